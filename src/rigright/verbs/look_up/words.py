"""Finds records by words for kinds without a finder of their own, and says what their marks mean."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, TypeVar

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.words import Sentence, say, tell
from rigright.facts.prices import is_stale
from rigright.verbs.look_up.fields import confidence_shown, source_of
from rigright.verbs.look_up.listing import ListingField, ListingKind, LookUpQuery

Record = TypeVar("Record")
_ASIDE = frozenset({"id", "notes", "source", "sources", "as_of", "confidence"})  # what is said about a record


def matching(
    records: Iterable[Record], words: tuple[str, ...], *, text_of: Callable[[Record], str]
) -> tuple[Record, ...]:
    """The records in whose text every word stands; no such record is an error that suggests the nearest."""
    records = tuple(records)
    wanted = " ".join(words).casefold().split()
    result = tuple(record for record in records if all(word in text_of(record).casefold() for word in wanted))
    if result or not wanted:
        return result
    known = sorted({piece for record in records for piece in text_of(record).casefold().split()})
    lost = next((word for word in wanted if not any(word in piece for piece in known)), " ".join(wanted))
    near = difflib.get_close_matches(lost[:60], known, n=4, cutoff=0.6)
    if near:
        shown = ", ".join(near)
        raise AskError(say('nothing matches "{text}"; closest: {near}', text=lost, near=shown))
    raise AskError(say('nothing matches "{text}"', text=" ".join(words)))


def with_words(records: Iterable[Record], text: str, *, texts: Callable[[Record], str]) -> tuple[Record, ...]:
    """The records in whose text each word begins a word, its numbers whole: "a3" is in no "a30"."""
    words = [re.compile(rf"(?<![^\W_]){re.escape(word)}(?!(?<=\d)\d)") for word in text.casefold().split()]
    return tuple(record for record in records if all(word.search(texts(record).casefold()) for word in words))


def saying(
    kind: ListingKind, records: tuple[Any, ...], *, words: tuple[str, ...]
) -> tuple[ListingField, ...]:
    """The unlisted columns in which every record says a word that was asked, and no listed one does."""
    listing_fields = []
    for word in " ".join(words).casefold().split():
        fields = [
            field for field in kind.fields
            if field.key not in _ASIDE and all(word in _tell_all(field.read(record)) for record in records)
        ]  # fmt: skip
        if fields and not any(field.listed for field in fields):
            listing_fields.append(fields[0])
    return tuple(dict.fromkeys(listing_fields))


def _tell_all(value: Any) -> str:
    """A value in both languages, in small letters; a number says no word."""
    parts = value if isinstance(value, list | tuple) else [value]
    words = [part for part in parts if isinstance(part, str | Sentence)]
    return "\n".join(tell(word, language) for word in words for language in ("en", "zh")).casefold()


def speaking_of(kind: ListingKind, asked: LookUpQuery) -> tuple[Any, ...]:
    """The records of a kind in whose texts, in either language, every word stands."""
    words = " ".join(asked.words).casefold().split()
    every = kind.find(LookUpQuery(today=asked.today))
    return tuple(value for value in every if all(word in _texts(kind, value) for word in words))


def _texts(kind: ListingKind, record: object) -> str:
    """Every word a record bears: numbers are no words."""
    return "\n".join(_tell_all(field.read(record)) for field in kind.fields)


def source_shown(record: object) -> Sentence:
    """The source of a record with its date and how sure it is."""
    return say(
        "{source} (as of {as_of}; confidence: {confidence})",
        source=source_of(record),
        as_of=getattr(record, "as_of", None) or say("unknown"),
        confidence=confidence_shown(getattr(record, "confidence", "low")),
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
