"""A listing: records of one kind with their fields, as `look-up` shows them as a page or as data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

from rigright.base.page import Part, Shown, Tone
from rigright.base.record import dataclass
from rigright.base.telling import RecordPrinter
from rigright.base.words import Sentence


class Unit(NamedTuple):
    """How people read and write the figures of a column."""

    scale: float = 1  # what one unit of the head is in the key's own; --where reads bare numbers so
    written: str = "{:,.4g}"
    parse: Callable[[str], Any] | None = None  # reads a value of --where; a number or a word otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingField:
    """A column of a kind. The record says what stands in it, of which type and unit, and what it means."""

    written: str  # "mem_bytes", "chip=rents" under another name, "error?" where there is one
    head: Sentence  # with the unit shown: "memory GB"
    read: Callable[[Any], Any]  # record -> what it tells, or None
    law: Callable[[Any], Any] | None = None  # says it where the record does not; its docstring is the meaning
    show: Callable[[Any], Shown] | None = None  # the value for people, where its unit does not say how
    unit: Unit
    names: tuple[str, ...] = ()  # shorter names for --where and --sort
    right: bool = False  # stands right, as numbers do
    flexible: bool = False  # may be cut on a narrow screen
    listed: bool = False  # stands in the table of many; the others are shown of one record, and in JSON

    @property
    def key(self) -> str:
        """Its name in JSON, with its unit: "mem_bytes"; also what --where and --sort take."""
        return self.written.partition("=")[0].rstrip("!?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpQuery:
    """What a kind is asked to find."""

    words: tuple[str, ...] = ()  # as typed, one string a word; none means all
    today: date  # prices are stale or not against this
    run_code: bool = False  # a model's own code may be run
    input_shape: str | None = None  # what a traced module is given: 1x3x224x224


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingKind:
    """A kind of thing that can be looked up. Each file of `verbs/look_up/` bears one as `KIND`."""

    record: Any  # the type of what it finds
    summary: Sentence  # one line for the help
    title: Sentence
    fields: tuple[ListingField, ...]
    find: Callable[[LookUpQuery], tuple[Any, ...]]  # raises an AskError where a word names nothing
    notes: Callable[[LookUpQuery, tuple[Any, ...]], tuple[Shown, ...]] | None = None
    tone: Callable[[Any], Tone] | None = None  # of a record's line
    parts: Callable[[Any], tuple[Part, ...]] | None = None  # more about one record, under its fields
    sources: Callable[[Any], Shown] | None = None  # where a record is from, for --sources
    full: bool = False  # every record is shown by itself, one under another, never as one table
    failed: Callable[[Any], bool] | None = None  # whether a record stands for a question without an answer
    named: Callable[[LookUpQuery], Any] | None = (
        None  # the one record a name means, or None; by its key otherwise
    )
    searched: bool = True  # words are looked for in every text of every record

    @property
    def tells(self) -> RecordPrinter:
        """All that `--json` tells of a record."""
        laws: dict[str, Any] = {field.key: field.law for field in self.fields if field.law is not None}
        return RecordPrinter(self.record, keys=[field.written for field in self.fields], **laws)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What was found, filtered and sorted."""

    kind: ListingKind
    records: tuple[Any, ...]
    total: int  # before the limit
    notes: tuple[Shown, ...] = ()
    also: tuple[ListingField, ...] = ()  # columns beside the listed ones: those that say what was asked
    with_sources: bool = False

    @property
    def exit_code(self) -> int:
        """Not zero where one of several questions has no answer."""
        failed = self.kind.failed
        return int(failed is not None and any(failed(record) for record in self.records))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a word was found to be, of all kinds."""

    text: str
    hit: Listing | None  # the one thing it names
    found: dict[str, Listing]  # kind -> what speaks of it, the first few of `total`
