"""One figure of one small file: a number where it is one, None where it is absent or not known."""

from __future__ import annotations

import re

from rigright.machine.world import World

_WHOLE = re.compile(r"\s*(-?\d{1,20})(?!\d)")
_ALONE = re.compile(r"\s*(-?\d{1,18})\s*")
_REAL = re.compile(r"\s*(-?\d{1,20}(?:\.\d{1,20})?)")


def whole(text: str | None) -> int | None:
    """The whole number a text begins with."""
    match = _WHOLE.match(text or "")
    return int(match.group(1)) if match else None


def real(text: str | None) -> float | None:
    """The number a text begins with."""
    match = _REAL.match(text or "")
    return float(match.group(1)) if match else None


def whole_of(world: World, path: str) -> int | None:
    """The whole number a file begins with."""
    return whole(world.text(path, 64))


def scaled_of(world: World, path: str, *, scale: float) -> float | None:
    """The whole number of a file that holds nothing else, in another unit."""
    match = _ALONE.fullmatch(world.text(path) or "")
    return float(match[1]) * scale if match else None


def positive_of(world: World, path: str) -> int | None:
    """The same where it is above zero: the kernel writes -1 or 0 for what it does not know."""
    number = whole_of(world, path)
    return number if number is not None and number > 0 else None


def word_of(world: World, path: str) -> str | None:
    """One word or line of a file; None where it is empty."""
    text = world.text(path, 512)
    return (text.strip() or None) if text is not None else None


def chosen(text: str | None) -> str | None:
    """The choice in brackets of "always [madvise] never"."""
    match = re.search(r"\[([^\]]{1,40})\]", text or "")
    return match.group(1) if match else None


def indexes(text: str | None, most: int = 65_536) -> tuple[int, ...]:
    """The numbers of a list as the kernel writes them: "0-3,8" -> 0, 1, 2, 3, 8."""
    numbers: list[int] = []
    for part in (text or "").strip().split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if match:
            first = int(match.group(1))
            numbers.extend(range(first, int(match.group(2) or first) + 1))
    return tuple(numbers[:most])
