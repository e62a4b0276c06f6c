"""Made-up names for private ones: the same for the same within one bundle, and never to be traced back."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

_HEX = re.compile(r"[0-9a-fA-F]")


@dataclass(frozen=True, slots=True)
class Marks:
    """A key that is thrown away after one bundle makes every name."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    given: dict[str, str] = field(default_factory=dict)  # private -> made up
    made: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)  # kind -> distinct ones

    def of(self, kind: str, told: str) -> str:
        """The made-up name of a private one, in its shape: digits for digits, letters for letters."""
        if told in self.made:
            return told
        if told not in self.given:
            self.given[told] = _SHAPES[kind](self, told)
            self.made.add(self.given[told])
            self.counts[kind] += 1
        return self.given[told]

    def digest(self, told: str, cells: int) -> str:
        """So many hexadecimal digits."""
        digits = hmac.new(self.key, told.lower().encode("utf-8", "replace"), hashlib.sha512).hexdigest()
        return (digits * (cells // len(digits) + 1))[:cells]


def _hexadecimal(marks: Marks, told: str) -> str:
    """Its hexadecimal digits anew; dashes and colons stay."""
    fresh = iter(marks.digest(told, len(told)))
    made = _HEX.sub(lambda _: next(fresh), told)
    return made.upper() if told.isupper() else made


def _hardware(marks: Marks, told: str) -> str:
    """An address that says of itself that it is made up (locally administered)."""
    made = _hexadecimal(marks, told)
    return "02" + made[2:]


def _network4(marks: Marks, told: str) -> str:
    """An address of the block that is kept for tests (RFC 2544)."""
    high, low = bytes.fromhex(marks.digest(told, 4))
    return f"198.18.{high}.{low}"


def _network6(marks: Marks, told: str) -> str:
    """An address of the block that is kept for documents (RFC 3849)."""
    digits = marks.digest(told, 8)
    return f"2001:db8::{digits[:4]}:{digits[4:]}"


def _serial(marks: Marks, told: str) -> str:
    """As long, digits for digits, letters for letters."""
    fresh = marks.digest(told, len(told))
    letters = "ABCDEFGHJKLMNPQR"
    return "".join(
        str(int(new, 16) % 10) if old.isdigit() else letters[int(new, 16)] if old.isalpha() else old
        for old, new in zip(told, fresh, strict=True)
    )


def _named(word: str) -> Callable[[Marks, str], str]:
    return lambda marks, told: f"{word}-{marks.digest(told, 6)}"


_SHAPES: dict[str, Callable[[Marks, str], str]] = {
    "uuid": _hexadecimal,
    "hardware address": _hardware,
    "guid": _hexadecimal,
    "network address": _network4,
    "network address 6": _network6,
    "serial": _serial,
    "host": _named("host"),
    "user": _named("user"),
    "path": _named("path"),
}
