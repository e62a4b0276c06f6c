"""Listings: records of one kind with their fields, as `look-up` shows them as a page or as data.

A field of a record is read, shown and asked for as the end of its name says: `mem_bytes` in GB, `tdp_w` in W.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from operator import attrgetter
from typing import Any, NamedTuple

from rigright.base.errors import AskError
from rigright.base.loader import rows
from rigright.base.money import USD
from rigright.base.page import Part, Shown
from rigright.base.record import dataclass
from rigright.base.telling import RecordPrinter
from rigright.base.units import GIB, GIGA, KILO, TERA, parse_bytes, parse_count
from rigright.base.words import Sentence, say, worded
from rigright.facts.prices import is_stale

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")
_ADVERTISED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:g|gb|gib)?\s*\Z", re.IGNORECASE)
_BILLIONS = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*[bB]")


class Unit(NamedTuple):
    """How people read and write the figures of a column."""

    scale: float = 1  # what one unit of the head is in the key's own; --where reads bare numbers so
    written: str = "{:,.4g}"
    parse: Callable[[str], Any] | None = None  # reads a value of --where; a number or a word otherwise
    money: bool = False  # dollars, shown in the currency that was asked for


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

    @property
    def text(self) -> str:
        """The words as one text."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingKind:
    """A kind of thing that can be looked up: a constant of a file of `kinds/`, and a row of `kinds.ROWS`."""

    record: Any  # the type of its records
    title: Sentence
    fields: tuple[ListingField, ...]
    records: Callable[[LookUpQuery], tuple[Any, ...]]  # every record, in the order of the list
    find: Callable[[LookUpQuery], tuple[Any, ...]] | None = (
        None  # reads words; an AskError: they name nothing
    )
    named: Callable[[LookUpQuery], Any] | None = None  # the record a name means, or None; else by its key
    notes: Callable[[LookUpQuery, tuple[Any, ...]], tuple[Shown, ...]] | None = None
    parts: Callable[[Any], tuple[Part, ...]] | None = None  # more about one record, under its fields
    answer: str | None = None  # the field that answers who asks for one record: it stands first
    full: bool = False  # every record is shown by itself, one under another, never as one table
    searched: bool = True  # words that `find` makes nothing of are looked for in every text of every record

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
    currency: str = USD  # that amounts are shown in

    @property
    def exit_code(self) -> int:
        """Not zero where one of several questions has no answer."""
        return int(any(getattr(record, "error", None) is not None for record in self.records))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a word was found to be, of all kinds."""

    text: str
    hit: Listing | None  # the one thing it names
    found: dict[str, Listing]  # kind -> what speaks of it, the first few of `total`


def _read_date(text: str) -> str:
    """A year, a month or a day."""
    written = text.strip()
    parts = [int(part) for part in written.split("-")] if _DATE.fullmatch(written) else []
    try:
        date(*[*parts, 1, 1][:3])
    except (TypeError, ValueError):
        raise AskError(
            say('cannot read "{text}" as a date; for example 2023 or 2023-06', text=text)
        ) from None
    return written


def _read_memory(text: str) -> float:
    """A card's memory as it is advertised: 24, 24G and 24GB are 24 GiB."""
    match = _ADVERTISED.match(text)
    return float(match.group(1)) * GIB if match else parse_bytes(text)


def _read_rate(text: str) -> float:
    """A rate in bytes a second: bare numbers are GB/s."""
    plain = text.strip().lower().removesuffix("/s")
    return parse_bytes(plain) * (1 if plain[-1:].isalpha() else GIGA)


def _read_params(text: str) -> float:
    """A number of parameters: 7B, 270M, 8030261248."""
    number = _BILLIONS.fullmatch(text.strip())
    return float(number[1]) * GIGA if number else float(parse_count(text))


_DAY = Unit(parse=_read_date)
_UNITS = {  # how a key ends, or what a row names -> how people read and write it
    "_flops_per_s": Unit(TERA),
    "_ops_per_s": Unit(TERA),
    "_bytes_per_s": Unit(GIGA, "{:,.5g}", _read_rate),
    "_bytes": Unit(GIB, "{:,g}", _read_memory),
    "_hz": Unit(GIGA),
    "_m": Unit(1 / KILO),
    "_w": Unit(written="{:,.6g}"),
    "params": Unit(parse=_read_params),
    "as_of": _DAY,
    "launch": _DAY,
    "usd": Unit(written="{:,.0f}", money=True),
    "usd_per_h": Unit(written="{:,.2f}", money=True),
    "usd_per_chip_h": Unit(written="{:,.2f}", money=True),
    "_h": Unit(written="{:,.2f}"),
    "whole": Unit(written="{:,.0f}"),
    "fine": Unit(written="{:.2f}"),
    "tb": Unit(TERA),
    "gbit": Unit(GIGA / 8),
    "": Unit(),
}


_COLUMNS = ("kind", "field", "head", "names", "words", "unit", "listed", "flexible", "right")


def fields_of(
    kind: str,
    *,
    shows: Mapping[str, Callable[[Any], Shown]] | None = None,
    laws: Mapping[str, Callable[[Any], Any]] | None = None,
) -> tuple[ListingField, ...]:
    """The columns of a kind (data/listing_fields.csv).

    `shows`: how people read a column whose unit and words do not say; `laws`: what no record bears.
    """
    shown: dict[str, Callable[[Any], Shown]] = {"unconfirmed": {True: "?", False: ""}.__getitem__}
    shown |= shows or {}
    fields = []
    for of, written, head, names, words, unit, *place in rows("listing_fields.csv", *_COLUMNS):
        name, _, way = written.partition("=")
        key = name.rstrip("!?")
        if of != kind:
            continue
        law = {**_LAWS, **(laws or {})}[key] if written.endswith("!") else None
        signed = (("sign", "$"),) if "{sign}" in head else ()
        if words:
            shown[key] = worded(words) if words != "-" else lambda _: ""  # parts under the fields show it
        listed, flexible, right = map(bool, place)
        field = ListingField(
            written=written, head=Sentence(head, signed), names=tuple(names.split()), law=law,
            read=_known(law or attrgetter(way or key)), show=shown.get(key),
            listed=listed, flexible=flexible, right=right,
            unit=_UNITS[unit or next(end for end in _UNITS if key.endswith(end))],
        )  # fmt: skip
        fields.append(field)
    return tuple(fields)


def _known(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is empty is not known."""
    return lambda record: None if (value := read(record)) in ((), {}) else value


def yes_no(has: object) -> Sentence:
    """Yes or no, where a page says it."""
    return say("yes") if has else say("no")


def _is_doubtful(record: Any) -> bool:
    """Whether it could not be confirmed."""
    return bool(record.confidence == "low")


def _source(record: object) -> str:
    """What it names as its source."""
    return str(getattr(record, "source", None) or getattr(record, "sources", ""))


def _notes(record: Any) -> str | None:
    """What else is to know."""
    return record.notes or None


_LAWS: Mapping[str, Callable[[Any], Any]] = {
    "unconfirmed": _is_doubtful,
    "source": _source,
    "notes": _notes,
}  # of every kind of fact


def source_shown(record: object) -> Shown | None:
    """The source of a record, where it names one, with its date and how sure it is."""
    if not hasattr(record, "confidence"):
        source: str | None = getattr(record, "source", None)
        return source
    return say(
        "{source} (as of {as_of}; confidence: {confidence})",
        source=_source(record),
        as_of=getattr(record, "as_of", None) or say("unknown"),
        confidence=worded("confidence")(getattr(record, "confidence", "low")),
    )


def doubt_notes(records: Iterable[object]) -> tuple[Shown, ...]:
    """What the question marks mean, where there are any."""
    if any(getattr(record, "confidence", "high") == "low" for record in records):
        return (say("? not verified: from memory, or sources disagree"),)
    return ()


def price_date_shown(as_of: str | None, today: date) -> Shown:
    """A price's date, marked where it is too old to act on."""
    if as_of is None:
        return say("no date")
    return say("{date}, stale", date=as_of) if is_stale(as_of, today) else as_of


def stale_notes(dates: Iterable[str | None], today: date) -> tuple[Shown, ...]:
    """What stale means, where a price is."""
    if any(is_stale(as_of, today) for as_of in dates):
        return (say("stale: older than 180 days; check the current price"),)
    return ()
