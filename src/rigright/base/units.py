"""The one place that converts: inside the code everything is SI, bytes and counts."""

from __future__ import annotations

import math
import re

from rigright.base.errors import AskError
from rigright.base.words import say

KILO, MEGA, GIGA, TERA, PETA = 1e3, 1e6, 1e9, 1e12, 1e15
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40

_SCALES = {
    "": 1,
    "k": 1e3,
    "m": 1e6,
    "g": 1e9,
    "b": 1e9,
    "t": 1e12,
    "ki": KIB,
    "mi": MIB,
    "gi": GIB,
    "ti": TIB,
}
_QUANTITY = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]{1,3})?)\s*([a-z]*)\s*\Z", re.IGNORECASE)


def to_gib(size_bytes: float) -> float:
    """Bytes -> GiB."""
    return size_bytes / GIB


def from_gib(size_gib: float) -> float:
    """GiB -> bytes."""
    return size_gib * GIB


def parse_bytes(text: str) -> float:
    """Read "80GB", "24 GiB", "512MiB" or plain bytes."""
    match = _QUANTITY.match(text)
    unit = match.group(2).lower().removesuffix("bytes").removesuffix("b") if match else None
    if match is None or unit not in _SCALES or not math.isfinite(float(match.group(1))):
        raise AskError(say('cannot read "{text}" as a size; write for example 80GB or 24GiB', text=text))
    return float(match.group(1)) * _SCALES[unit]


def parse_count(text: str) -> int:
    """Read "4096", "4k", "128Ki", "1.5M" as a whole number (k is 1024 for powers of two: 4k = 4096)."""
    match = _QUANTITY.match(text)
    unit = match.group(2).lower() if match else None
    if match is None or unit not in {"", "k", "ki", "m", "mi"}:
        raise AskError(say('cannot read "{text}" as a count; write for example 4096 or 32k', text=text))
    scale = {"k": KIB, "m": MIB}.get(unit, _SCALES[unit])
    number = float(match.group(1)) * scale
    if not math.isfinite(number) or number != int(number):
        raise AskError(say('cannot read "{text}" as a count; write for example 4096 or 32k', text=text))
    return int(number)


def show_bytes(size_bytes: float) -> str:
    """A size for people, binary: "14.96 GiB"."""
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(size_bytes) >= unit:
            return f"{_three(size_bytes / unit)} {name}"
    return f"{size_bytes:.0f} B"


def show_count(number: float) -> str:
    """A count for people: "8.03 B", "131,072"."""
    if abs(number) >= TERA:
        return f"{_three(number / TERA)} T"
    if abs(number) >= GIGA:
        return f"{_three(number / GIGA)} B"
    if abs(number) >= MEGA:
        return f"{_three(number / MEGA)} M"
    return f"{number:,.0f}"


def _three(number: float) -> str:
    """Three leading digits, never fewer than the whole part needs."""
    digits = max(0, 2 - math.floor(math.log10(abs(number)))) if number else 2
    return f"{number:,.{min(digits, 2)}f}"
