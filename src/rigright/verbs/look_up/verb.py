"""Looks a kind of thing up: finds by words, filters by conditions, sorts, cuts."""

from __future__ import annotations

import difflib
from datetime import date
from typing import Any

from rigright.base import everyday, shelf
from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.verbs import clock
from rigright.verbs.look_up.conditions import Condition, never_met, read_condition, sort_records
from rigright.verbs.look_up.listing import Listing, ListingKind, LookUpQuery
from rigright.verbs.look_up.words import saying, speaking_of

FOLDER = "rigright.verbs.look_up.kinds"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpWish:
    """What the listing shall hold, and in which order."""

    where: tuple[str, ...] = ()  # "memory>=24GB", ...: all must hold
    sort: str | None = None  # a field: numbers from the largest, words from A
    backwards: bool = False
    limit: int | None = None  # records; None and 0 mean all
    with_sources: bool = False
    run_code: bool = False
    input_shape: str | None = None


def kind_names() -> tuple[str, ...]:
    """Everything that can be looked up, as it is typed."""
    return tuple(name.replace("_", "-") for name in shelf.names(FOLDER))


def kind_summaries() -> dict[str, Sentence]:
    """Each kind, and what it tells."""
    kinds = shelf.load(FOLDER, "KIND")
    return {name.replace("_", "-"): kind.summary for name, kind in kinds.items()}


ALSO = {"gpu": "chips", "card": "chips", "accelerator": "chips", "instance": "clouds", "processor": "cpus"}


def is_kind(name: str) -> bool:
    """Whether a kind is called so."""
    try:
        find_kind(name)
    except AskError:
        return False
    return True


def find_kind(name: str) -> ListingKind:
    """The kind of that name; one more or one less `s` is forgiven."""
    known = kind_names()
    wanted = everyday.named("kind", name.strip().lower().replace("_", "-"))
    for written in (wanted, wanted + "s", wanted.removesuffix("s"), ALSO.get(wanted.removesuffix("s"), "")):
        if written in known:
            kind: ListingKind = shelf.take(FOLDER, written.replace("-", "_"), bears="KIND")
            return kind
    near = difflib.get_close_matches(wanted[:40], known, n=1)
    raise AskError(
        say(
            'unknown kind "{name}"; known: {kinds}',
            name=name,
            kinds=", ".join([*near, *(text for text in known if text not in near)]),
        )
    )


def _why_none(conditions: list[Condition], known: tuple[Any, ...]) -> tuple[Sentence, ...]:
    """Which conditions no record meets, and what there is instead."""
    unmet = [condition for condition in conditions if not any(condition.holds(record) for record in known)]
    return tuple(
        sentence for sentence in (never_met(condition, known) for condition in unmet) if sentence is not None
    )


def _records(kind: ListingKind, asked: LookUpQuery) -> tuple[Any, ...]:
    """What the kind's own reader of names finds; else every record in whose texts the words stand."""
    refused: AskError | None = None
    try:
        values = kind.find(asked)
    except AskError as error:
        values, refused = (), error
    if not values and asked.words and kind.searched:
        values = speaking_of(kind, asked)
    if not values and refused is not None:
        raise refused
    return values


def look_up(
    name: str, words: str | tuple[str, ...] = (), *, today: date | None = None, wish: LookUpWish | None = None
) -> Listing:
    """Find records of a kind by words, then filter, sort and cut; prices are stale or not against `today`."""
    wish = wish or LookUpWish()
    words = (words,) if isinstance(words, str) else tuple(words)
    today = today or clock.today()
    if wish.limit is not None and wish.limit < 0:
        raise AskError(say("the limit must be 0 or more, got {limit}; 0 shows all", limit=wish.limit))
    kind = find_kind(name)
    asked = LookUpQuery(words=words, today=today, run_code=wish.run_code, input_shape=wish.input_shape)
    conditions = [read_condition(text, kind.fields) for text in wish.where]
    known = _records(kind, asked)
    records: tuple[Any, ...] = tuple(
        record for record in known if all(condition.holds(record) for condition in conditions)
    )
    if wish.sort is not None:
        records = sort_records(records, wish.sort, fields=kind.fields, backwards=wish.backwards)
    kept = records[: wish.limit or None]
    return Listing(
        kind=kind,
        records=kept,
        total=len(records),
        also=saying(kind, records, words=words) if len(records) > 1 else (),
        notes=(kind.notes(asked, kept) if kind.notes else ()) if records else _why_none(conditions, known),
        with_sources=wish.with_sources,
    )
