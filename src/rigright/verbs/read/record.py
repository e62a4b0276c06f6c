"""What read found, each claim with its verdict and the right figure; and kinds of claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

from rigright.base.loader import records
from rigright.base.record import dataclass, derived
from rigright.base.units import GIB, GIGA, KILO
from rigright.base.words import Sentence, worded
from rigright.verbs.read.quantities import ABOUT, LEAST, MOST, StatedQuantity

NEED = "memory needed"  # of a model: the laws of memory judge it, no field
_ROUGH = 2.0  # times the tolerance, of a figure that is said to be rough
BARE = frozenset(
    {"count", "million", "channels", "pieces", "ordinal", "year"}
)  # say nothing of what they count
_ONE_FIGURE = frozenset({"mem_bytes", "params", "boost_hz"})  # the first of such fields is the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimKind:
    """One row of data/claims.csv: a quantity that a kind of subject has."""

    id: str
    of: str  # kind of the subject
    fields: tuple[str, ...] = ()  # of its record: a figure that one of them has is right
    measures: tuple[str, ...]  # units in which it is told
    words: str = ""
    needs_word: bool
    tolerance: float
    adds: bool  # over several of them
    unit: str = ""
    scale: float

    @property
    def said(self) -> tuple[str, ...]:
        """The words for it."""
        return tuple(filter(None, self.words.split("|")))

    @property
    def title(self) -> Sentence:
        """It in words."""
        return Sentence(self.id)

    @property
    def first_answers(self) -> bool:
        """Whether of several fields the first is what a reader wants to know."""
        return bool(self.fields) and self.fields[0] in _ONE_FIGURE

    def takes(self, quantity: StatedQuantity) -> bool:
        """Whether it is stated in such a unit."""
        return quantity.unit in self.measures or (quantity.unit == "pieces" and "count" in self.measures)

    def values(self, record: object) -> Iterator[float]:
        """What a record has of it, in SI."""
        for field in self.fields:
            value = getattr(record, field, None)
            if field == "launch" and value:
                yield float(str(value)[:4])
            elif field == "isa" and re.fullmatch(r"\d{1,3}\.\d", str(value)):
                yield float(str(value))
            elif isinstance(value, int | float):
                yield float(value)
            if field == "mem_bytes":
                yield from map(float, getattr(record, "mem_options_bytes", ()))
            if field == "params":  # a 7B is called so whatever its weights count
                sizes = re.findall(
                    r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?)[bB](?![a-z])", getattr(record, "name", "")
                )
                yield from (float(size) * GIGA for size in sizes)

    def holds(self, quantity: StatedQuantity, value: float) -> bool:
        """Whether a figure says a value, within what it may be off."""
        off = self.tolerance * (_ROUGH if quantity.bound == ABOUT else 1.0)
        for low, high in self.readings(quantity):
            if quantity.bound == LEAST and low == high:
                if value >= low * (1 - off):
                    return True
            elif quantity.bound == MOST and low == high:
                if value <= high * (1 + off):
                    return True
            elif low * (1 - off) <= value <= high * (1 + off):
                return True
        return False

    def readings(self, quantity: StatedQuantity) -> Iterator[tuple[float, float]]:
        """A figure in SI as it may be meant: sizes in thousands or in 1024s, bits in bytes."""
        factor = 1.0
        if quantity.unit == "bits_per_s":
            factor = 1 / 8
        elif quantity.unit == "count" and self.unit == "MT/s":
            factor = self.scale
        elif quantity.unit == "mm":
            factor = 1 / KILO
        for scale in (1.0, GIB / GIGA, GIGA / GIB) if quantity.unit == "bytes" else (1.0,):
            yield quantity.low * factor * scale, quantity.high * factor * scale

    def shown(self, value: float) -> str:
        """A value in the unit people use for it."""
        number = value / self.scale
        if number >= KILO and self.id != "launch":
            return f"{number:,.0f} {self.unit}".strip()
        digits = 6 if number >= 100 or number == int(number) else 4
        return f"{number:.{digits}g} {self.unit}".strip()


@cache
def kinds() -> tuple[ClaimKind, ...]:
    """Every row of the table."""
    return records("claims.csv", ClaimKind)


def kind_named(name: str, of: str) -> ClaimKind:
    """The row of a quantity of a kind of subject."""
    return next(kind for kind in kinds() if kind.id == name and kind.of == of)


Verdict = Literal["right", "wrong", "dated", "unknown"]
RIGHT: Verdict = "right"
WRONG: Verdict = "wrong"
DATED: Verdict = "dated"
UNKNOWN: Verdict = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """A verdict with the right figure, and what shows it."""

    verdict: Verdict
    truth: Sentence | str | None = None
    command: str | None = None  # None: what shows the subject
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideClaim:
    """One thing that the text says, judged."""

    line: int  # of the text, from 1
    says: str  # as it stands there, cut where it is long
    about: str | None  # what it is about, by its full name
    kind: str  # "VRAM", "bandwidth", "configuration", "command", "parts", "error" ...
    verdict: Verdict  # unknown: nothing here can judge it
    truth: Sentence | str | None  # the right figure, or why it cannot be judged
    command: str | None  # that shows it
    source: str | None = None  # of the fact it was held against

    @property
    def title(self) -> Sentence | str:
        """Its kind in words."""
        row = next((kind.title for kind in kinds() if kind.id == self.kind), None)
        return row or worded("claim")(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedError:
    """A message of an error that the text repeats."""

    line: int  # of the text, from 1
    says: str  # as it stands there, cut where it is long
    means: Sentence  # what it tells of
    do: Sentence | None  # what helps; null where the table of its kind says no more
    command: str  # that shows more


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadLine:
    """A sentence, a row or a line of code from which no claim was taken."""

    line: int  # of the text, from 1
    text: str  # cut where it is long


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGuide:
    """A text, claim by claim."""

    name: str  # of the file
    lines: int  # of the text
    claims: tuple[GuideClaim, ...]  # in the order of the text
    errors: tuple[ExplainedError, ...] = ()  # messages that it repeats, explained
    not_understood: tuple[UnreadLine, ...] = ()  # what no claim was taken from, and so was not checked
    cut: bool = False  # the text is longer than what is read

    def count(self, verdict: str) -> int:
        """Claims of one verdict."""
        return sum(claim.verdict == verdict for claim in self.claims)

    @derived
    def right(self) -> int:
        """Claims that hold."""
        return self.count(RIGHT)

    @derived
    def wrong(self) -> int:
        """Claims that do not."""
        return self.count(WRONG)

    @derived
    def dated(self) -> int:
        """Claims that held once."""
        return self.count(DATED)

    @derived
    def unknown(self) -> int:
        """Claims that nothing here can judge."""
        return self.count(UNKNOWN)
