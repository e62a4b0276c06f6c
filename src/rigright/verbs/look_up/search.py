"""Looks a word up in everything that is known: the one thing it names, else what speaks of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import date
from typing import Any

from rigright.base.errors import AskError, RigError
from rigright.base.words import say
from rigright.verbs import clock
from rigright.verbs.look_up.listing import Findings, Listing, ListingKind, LookUpQuery
from rigright.verbs.look_up.verb import find_kind, kind_names
from rigright.verbs.look_up.words import saying, speaking_of

MOST_CHARS = 1000  # of a question
MOST_NEAR = 3
SHOWN = 4  # records of a kind where several kinds answer
# the kinds whose things bear names, in the order in which a name is tried
_NAMED = ("chips", "model", "engines", "formats", "xids", "checks", "cpus", "platforms", "guides")
_APART = frozenset({"model", "guides"})  # opened by a whole name or question, not by words of it


def search(text: str, *, today: date | None = None) -> Findings:
    """What a word names, shown in full, and every other kind that speaks of it."""
    if len(text) > MOST_CHARS:
        raise AskError(say("query too long: {count} characters; use a name or a few words", count=len(text)))
    today = today or clock.today()
    hit = next(_hits(text, today), None)
    listings = {
        name: listing
        for name in kind_names()
        if name not in _APART and (listing := _speaking(name, text, today=today)) is not None
    }
    if hit is None and not listings:
        near = ", ".join(_near(text, today))
        lists = say("`{see}` lists all", see="rigright look-up")
        raise AskError(
            say('nothing found for "{text}"', text=text[:80]),
            hint=say("did you mean {near}?", near=near) if near else lists,
        )
    return Findings(text=text, hit=hit, found=listings)


def _near(text: str, today: date) -> list[str]:
    """Names of things that are written much alike."""
    names = [
        str(kind.fields[0].read(record))
        for kind in (find_kind(name) for name in _NAMED if name not in _APART)
        for record in kind.find(LookUpQuery(today=today))
    ]
    known = {name.casefold().split(" ", 1)[-1]: name for name in names} | {
        name.casefold(): name for name in names
    }
    close = difflib.get_close_matches(text.casefold()[:60], known, n=MOST_NEAR, cutoff=0.75)
    return [known[name] for name in close]


def _hits(text: str, today: date) -> Iterator[Listing]:
    """The one record a text names, of each kind that has such a record."""
    for name in _NAMED:
        kind = find_kind(name)
        record = _named(kind, text, today=today)
        if record is not None:
            yield Listing(kind=kind, records=(record,), total=1)


def _named(kind: ListingKind, text: str, *, today: date) -> Any:
    """The record that bears a name: by the kind's own reader of names, else by its first field."""
    try:
        if kind.named is not None:
            return kind.named(LookUpQuery(words=(text,), today=today))
        records = kind.find(LookUpQuery(today=today))
    except RigError:
        return None
    wanted = text.strip().casefold()
    keys = [field for field in kind.fields if field.key in {"id", "name", "label"}]
    return next(
        (record for record in records if any(str(field.read(record)).casefold() == wanted for field in keys)),
        None,
    )


def _speaking(name: str, text: str, *, today: date) -> Listing | None:
    """The records of a kind that a text finds, the first few of them."""
    kind = find_kind(name)
    asked = LookUpQuery(words=tuple(text.split()), today=today)
    try:
        records = kind.find(asked)
    except RigError:
        records = ()
    if not records and kind.searched:
        records = speaking_of(kind, asked)
    if not records:
        return None
    return Listing(
        kind=kind, records=records[:SHOWN], total=len(records), also=saying(kind, records, words=asked.words)
    )
