"""A listing: records of one kind with their fields, as `look-up` shows them as a page or as data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from rigright.base.page import Part, Shown, Tone
from rigright.base.record import dataclass
from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One figure or word of a record: how it is read, and how it is shown."""

    key: str  # its name in JSON, with its unit: "memory_bytes"; also what --where and --sort take
    head: Sentence  # the head of its column, with the unit shown: "memory GiB"
    read: Callable[[Any], Any]  # record -> a JSON-able value in SI units and bytes, or None
    show: Callable[[Any], Shown] | None = None  # the value for people; a number over `scale` otherwise
    scale: float = 1  # what one unit of the head is in the value's unit; --where reads bare numbers so
    parse: Callable[[str], Any] | None = None  # reads a value of --where; numbers and words otherwise
    names: tuple[str, ...] = ()  # shorter names for --where and --sort
    right: bool = False  # stands right, as numbers do
    flexible: bool = False  # may be cut on a narrow screen
    detail: bool = False  # only where one record is shown, and in JSON
    sparse: bool = False  # left out of JSON where a record has none of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a kind is asked to find."""

    words: tuple[str, ...] = ()  # as typed, one string a word; none means all
    today: date  # prices are stale or not against this
    run_code: bool = False  # a model's own code may be run
    input_shape: str | None = None  # what a traced module is given: 1x3x224x224


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of thing that can be looked up. Each file of `verbs/look_up/` bears one as `KIND`."""

    summary: Sentence  # one line for the help
    title: Sentence
    fields: tuple[Field, ...]
    find: Callable[[Asked], tuple[Any, ...]]  # raises an AskError where a word names nothing
    notes: Callable[[Asked, tuple[Any, ...]], tuple[Shown, ...]] | None = None
    tone: Callable[[Any], Tone] | None = None  # of a record's line
    parts: Callable[[Any], tuple[Part, ...]] | None = None  # more about one record, under its fields
    sources: Callable[[Any], Shown] | None = None  # where a record is from, for --sources
    full: bool = False  # every record is shown by itself, one under another, never as one table
    failed: Callable[[Any], bool] | None = None  # whether a record stands for a question without an answer
    named: Callable[[Asked], Any] | None = None  # the one record a name means, or None; by its key otherwise
    searched: bool = True  # words are looked for in every text of every record


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What was found, filtered and sorted."""

    kind: Kind
    records: tuple[Any, ...]
    total: int  # before the limit
    notes: tuple[Shown, ...] = ()
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
