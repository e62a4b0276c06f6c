"""Columns: a field of a record is read, shown and asked for as the end of its name says."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from operator import attrgetter
from typing import Any

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import GIB, GIGA, KILO, TERA, parse_bytes, parse_count
from rigright.base.words import Sentence, say
from rigright.verbs.look_up.listing import ListingField, Unit

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")
_ADVERTISED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:g|gb|gib)?\s*\Z", re.IGNORECASE)
_BILLIONS = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*[bB]")


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


def read_memory(text: str) -> float:
    """A card's memory as it is advertised: 24, 24G and 24GB are 24 GiB."""
    match = _ADVERTISED.match(text)
    return float(match.group(1)) * GIB if match else parse_bytes(text)


def _read_rate(text: str) -> float:
    """A rate in bytes a second: bare numbers are GB/s."""
    plain = text.strip().lower().removesuffix("/s")
    return parse_bytes(plain) * (1 if plain[-1:].isalpha() else GIGA)


def read_params(text: str) -> float:
    """A number of parameters: 7B, 270M, 8030261248."""
    number = _BILLIONS.fullmatch(text.strip())
    return float(number[1]) * GIGA if number else float(parse_count(text))


PLAIN, DOLLARS, CENTS = Unit(), Unit(written="{:,.0f}"), Unit(written="{:,.2f}")
DAY = Unit(parse=_read_date)
UNITS = {  # how a key ends -> how people read and write it
    "_flops_per_s": Unit(TERA),
    "_ops_per_s": Unit(TERA),
    "_bytes_per_s": Unit(GIGA, "{:,.5g}", _read_rate),
    "_bytes": Unit(GIB, "{:,g}", read_memory),
    "_hz": Unit(GIGA),
    "_m": Unit(1 / KILO),
    "_w": Unit(written="{:,.6g}"),
    "params": Unit(parse=read_params),
    "as_of": DAY,
    "launch": DAY,
    "usd": DOLLARS,
    "_h": CENTS,
}


def field(
    text: str,
    head: Sentence,
    *names: str,
    law: Callable[[Any], Any] | None = None,
    show: Callable[[Any], Shown] | None = None,
    unit: Unit | None = None,
    **place: bool,
) -> ListingField:
    """A column of what a record tells; `names` are shorter ones for --where and --sort."""
    name, _, way = text.partition("=")
    key = name.rstrip("?")
    usual = next((row for end, row in UNITS.items() if key.endswith(end)), PLAIN)
    return ListingField(
        written=text if law is None else f"{text}!",
        head=head,
        names=names,
        read=_known(law or attrgetter(way or key)),
        law=law,
        show=show,
        unit=unit or usual,
        **place,
    )


def _known(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is empty is not known."""

    def known(record: object) -> Any:
        value = read(record)
        return None if value in ((), {}) else value

    return known


def yes_no(has: object) -> Sentence:
    """Yes or no, where a page says it."""
    return say("yes") if has else say("no")


def is_doubtful(record: Any) -> bool:
    """Whether it could not be confirmed."""
    return bool(record.confidence == "low")


def source_of(record: object) -> str:
    """What it names as its source."""
    return str(getattr(record, "source", None) or getattr(record, "sources", ""))


def notes_of(record: Any) -> str | None:
    """What else is to know."""
    return record.notes or None


def doubt() -> ListingField:
    """A question mark where a record could not be confirmed."""
    mark = {True: "?", False: ""}
    return field("unconfirmed", say("?"), law=is_doubtful, show=mark.__getitem__, listed=True)


def provenance() -> tuple[ListingField, ...]:
    """Where a record is from, when it was looked at and how sure it is: every kind of fact bears them."""
    return (
        field("source", say("source"), law=source_of, flexible=True),
        field("as_of", say("as of")),
        field("confidence", say("confidence"), show=confidence_shown),
        field("notes", say("notes"), law=notes_of, flexible=True),
    )


def confidence_shown(confidence: str) -> Sentence:
    """How sure a row is, in words."""
    return {"high": say("high"), "med": say("medium"), "low": say("low")}.get(confidence, say("unknown"))
