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

    def of(self, kind: str, text: str) -> str:
        """The made-up name of a private one, in its shape: digits for digits, letters for letters."""
        if text in self.made:
            return text
        if text not in self.given:
            self.given[text] = _SHAPES[kind](self, text)
            self.made.add(self.given[text])
            self.counts[kind] += 1
        return self.given[text]

    def digest(self, text: str, cells: int) -> str:
        """So many hexadecimal digits."""
        digits = hmac.new(self.key, text.lower().encode("utf-8", "replace"), hashlib.sha512).hexdigest()
        return (digits * (cells // len(digits) + 1))[:cells]


def _hexadecimal(marks: Marks, text: str) -> str:
    """Its hexadecimal digits anew; dashes and colons stay."""
    fresh = iter(marks.digest(text, len(text)))
    made = _HEX.sub(lambda _: next(fresh), text)
    return made.upper() if text.isupper() else made


def _hardware(marks: Marks, text: str) -> str:
    """An address that says of itself that it is made up (locally administered)."""
    made = _hexadecimal(marks, text)
    return "02" + made[2:]


def _network4(marks: Marks, text: str) -> str:
    """An address of the block that is kept for tests (RFC 2544)."""
    high, low = bytes.fromhex(marks.digest(text, 4))
    return f"198.18.{high}.{low}"


def _network6(marks: Marks, text: str) -> str:
    """An address of the block that is kept for documents (RFC 3849)."""
    digits = marks.digest(text, 8)
    return f"2001:db8::{digits[:4]}:{digits[4:]}"


def _serial(marks: Marks, text: str) -> str:
    """As long, digits for digits, letters for letters."""
    fresh = marks.digest(text, len(text))
    letters = "ABCDEFGHJKLMNPQR"
    return "".join(
        str(int(new, 16) % 10) if old.isdigit() else letters[int(new, 16)] if old.isalpha() else old
        for old, new in zip(text, fresh, strict=True)
    )


def _named(word: str) -> Callable[[Marks, str], str]:
    return lambda marks, text: f"{word}-{marks.digest(text, 6)}"


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
