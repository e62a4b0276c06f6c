"""Fields that many kinds bear: words, figures over a unit, memory, prices, where a record is from."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import GIB, GIGA, parse_bytes
from rigright.base.words import Sentence, say
from rigright.verbs.look_up.listing import Field

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")
_ADVERTISED = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:g|gb|gib)?\s*\Z", re.IGNORECASE)


def told(key: str, head: Sentence, *names: str, listed: bool = False, flexible: bool = False) -> Field:
    """A word, or several, shown as they are."""
    return Field(key=key, head=head, read=_reads(key), names=names, flexible=flexible, detail=not listed)


def moment(key: str, head: Sentence, *names: str) -> Field:
    """A date, or as much of it as is known: 2023, 2023-06, 2023-06-30."""
    return Field(key=key, head=head, read=_reads(key), parse=read_date, names=names)


def figure(
    key: str, head: Sentence, *names: str, scale: float = 1, written: str = "{:,.4g}", listed: bool = False
) -> Field:
    """A number, shown over the unit that its head names."""
    return Field(
        key=key,
        head=head,
        read=_reads(key),
        show=lambda value: written.format(value / scale),
        scale=scale,
        names=names,
        right=True,
        detail=not listed,
    )


def memory(
    key: str,
    head: Sentence,
    *names: str,
    show: Callable[[float], Shown] | None = None,
    listed: bool = False,
) -> Field:
    """A size of memory, shown as it is advertised."""
    return Field(
        key=key,
        head=head,
        read=_reads(key),
        show=show or (lambda size: f"{size / GIB:,g}"),
        parse=read_memory,
        names=names,
        right=True,
        detail=not listed,
    )


def bandwidth(key: str, head: Sentence, *names: str, listed: bool = False) -> Field:
    """A rate of bytes, shown in GB/s."""
    return Field(
        key=key,
        head=head,
        read=_reads(key),
        show=lambda rate: f"{rate / GIGA:,.5g}",
        parse=read_rate,
        names=names,
        right=True,
        detail=not listed,
    )


def yes_no(key: str, head: Sentence) -> Field:
    """Yes or no."""
    return Field(
        key=key,
        head=head,
        read=_reads(key),
        show=lambda has: say("yes") if has else say("no"),
        detail=True,
    )


def doubt() -> Field:
    """A question mark where a record could not be confirmed."""
    return Field(
        key="unconfirmed",
        head=say("?"),
        read=lambda record: record.confidence == "low",
        show=lambda low: "?" if low else "",
    )


def provenance() -> tuple[Field, ...]:
    """Where a record is from, when it was looked at and how sure it is: every kind of fact bears them."""
    return (
        Field(key="source", head=say("source"), read=source_of, detail=True, flexible=True),
        told("as_of", say("as of")),
        Field(
            key="confidence",
            head=say("confidence"),
            read=_reads("confidence"),
            show=confidence_shown,
            detail=True,
        ),
        Field(
            key="notes",
            head=say("notes"),
            read=lambda record: record.notes or None,
            detail=True,
            flexible=True,
        ),
    )


def source_of(record: object) -> str:
    """What a record names as its source."""
    return str(getattr(record, "source", None) or getattr(record, "sources", ""))


def confidence_shown(confidence: str) -> Sentence:
    """How sure a row is, in words."""
    return {"high": say("high"), "med": say("middling"), "low": say("low")}.get(confidence, say("unknown"))


def read_date(text: str) -> str:
    """A year, a month or a day."""
    written = text.strip()
    parts = [int(part) for part in written.split("-")] if _DATE.fullmatch(written) else []
    try:
        date(*[*parts, 1, 1][:3])
    except (TypeError, ValueError):
        raise AskError(
            say('cannot read "{text}" as a date; write for example 2023 or 2023-06', text=text)
        ) from None
    return written


def read_memory(text: str) -> float:
    """A card's memory as it is advertised: 24, 24G and 24GB are 24 GiB."""
    match = _ADVERTISED.match(text)
    return float(match.group(1)) * GIB if match else parse_bytes(text)


def read_rate(text: str) -> float:
    """A rate in bytes a second: bare numbers are GB/s."""
    plain = text.strip().lower().removesuffix("/s")
    return parse_bytes(plain) * (1 if plain[-1:].isalpha() else GIGA)


def _reads(key: str) -> Callable[[Any], Any]:
    return lambda record: getattr(record, key)
