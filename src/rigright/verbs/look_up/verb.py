"""Looks things up: of one kind by words, conditions, order and limit; or one word in everything known."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator
from datetime import date
from importlib import import_module
from typing import Any

from rigright.base import everyday
from rigright.base.errors import AskError, RigError, maybe, unknown
from rigright.base.loader import rows
from rigright.base.money import USD
from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.facts.mentions import mentions
from rigright.verbs import own
from rigright.verbs.look_up.filters import read_condition, saying, sort_records, speaking_of, why_none
from rigright.verbs.look_up.listing import Findings, Listing, ListingKind, LookUpQuery, doubt_notes

_FOLDER = "rigright.verbs.look_up.kinds"
_MOST_CHARS = 1000  # of a question
_MOST_NEAR = 3
_FIRST_KINDS = ("chips", "software", "clouds", "prices")  # what people mostly ask for
_FIRST = 4  # records of a kind where several kinds answer
# the kinds whose things bear names, in the order in which a name is tried: exact ones before models
_NAMED = ("chips", "engines", "formats", "model", "xids", "checks", "cpus", "platforms", "guides")
_APART = frozenset({"model", "guides"})  # opened by a whole name or question, not by words of it
_SEAM = re.compile(r"(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])")
_QUESTION = re.compile(
    r"\A(?:what|how|which|does|do|is|are)\b|什么|是啥|多少|怎么|如何|吗|[?？]", re.IGNORECASE
)
_ASKING = re.compile(
    r"什么是|是什么(?:意思)?|是啥|怎么样|如何|多少|吗|呢"
    r"|\b(?:what(?:'s| is| are)|how (?:much|many|fast|does|do|is)|does|do|is|are|an?|the|of|cost|mean)\b",
    re.IGNORECASE,
)


# kind -> the file of `kinds/` that bears its `ListingKind` under the same name, and a line of help
KINDS = {
    kind: (file, Sentence(summary))
    for kind, file, summary in rows("listing_kinds.csv", "kind", "file", "summary")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpWish:
    """What the listing shall hold, and in which order."""

    where: tuple[str, ...] = ()  # "memory>=24GB", ...: all must hold
    sort: str | None = None  # a field: numbers from the largest, words from A
    backwards: bool = False
    limit: int | None = None  # records; None and 0 mean all
    with_sources: bool = False
    currency: str = USD
    run_code: bool = False
    input_shape: str | None = None


def kind_names() -> tuple[str, ...]:
    """Everything that can be looked up, as it is typed."""
    return tuple(KINDS)


def kind_summaries() -> dict[str, Sentence]:
    """Each kind, and what it tells."""
    return {name: summary for name, (_, summary) in KINDS.items()}


def is_kind(name: str) -> bool:
    """Whether a kind is called so."""
    return _kind_name(name) is not None


def _kind_name(name: str) -> str | None:
    """The kind that a word means; one more or one less `s` is forgiven."""
    text = name.strip().lower()
    forms = (text, text.removesuffix("s"), f"{text}s")
    return next((kind for form in forms if (kind := everyday.named("kind", form)) in KINDS), None)


def find_kind(name: str) -> ListingKind:
    """The kind of that name."""
    known = _kind_name(name)
    if known is not None:
        room = import_module(f"{_FOLDER}.{KINDS[known][0]}")
        kind: ListingKind = getattr(room, known.upper())
        return kind
    near = difflib.get_close_matches(name.strip().lower()[:40], KINDS, n=1)
    raise unknown(say("kind"), name, near=near, known=KINDS)


def look_up(
    name: str, words: str | tuple[str, ...] = (), *, today: date | None = None, wish: LookUpWish | None = None
) -> Listing:
    """Find records of a kind by words, then filter, sort and cut; prices are stale or not against `today`."""
    wish = wish or LookUpWish()
    words = (words,) if isinstance(words, str) else tuple(words)
    today = today or own.today()
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
        notes=_notes(kind, asked, kept=kept) if records else why_none(conditions, known),
        with_sources=wish.with_sources,
        currency=wish.currency,
    )


def _records(kind: ListingKind, asked: LookUpQuery) -> tuple[Any, ...]:
    """What the kind's own reader of words finds; else every record in whose texts the words stand."""
    if not asked.words:
        return kind.records(asked)
    refused = AskError(say('nothing matches "{text}"', text=asked.text))
    values: tuple[Any, ...] = ()
    try:
        values = kind.find(asked) if kind.find is not None else ()
    except AskError as error:
        refused = error
    if not values and kind.searched:
        values = speaking_of(kind, asked)
    if not values:
        raise refused
    return values


def _notes(kind: ListingKind, asked: LookUpQuery, *, kept: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is to be known of a list: the kind's own, and what its question marks mean."""
    marked = any(field.key == "unconfirmed" for field in kind.fields)
    return (*(kind.notes(asked, kept) if kind.notes else ()), *(doubt_notes(kept) if marked else ()))


def search(text: str, *, today: date | None = None) -> Findings:
    """What a word names, shown in full, and every other kind that speaks of it."""
    if len(text) > _MOST_CHARS:
        raise AskError(say("query too long: {count} characters; use a name or a few words", count=len(text)))
    today = today or own.today()
    asked = next(_subjects(text), None) if _QUESTION.search(text) else None
    found = None if asked is None else maybe(lambda: search(asked, today=today))
    if found is not None:
        return found
    hit = next(_hits(text, today), None)
    listings = {
        name: listing
        for name in (*_FIRST_KINDS, *(name for name in KINDS if name not in _FIRST_KINDS))
        if name not in _APART and (listing := _speaking(name, text, today=today)) is not None
    }
    if (
        hit is not None
        and hit.kind is find_kind("guides")
        and "chips" in listings
        and " " not in text.strip()
    ):
        hit = None  # one word that cards bear asks for those, not for what a guide says of it
    if hit is not None or listings:
        return Findings(text=text, hit=hit, found=listings)
    subject = next(_subjects(text), text)
    misspelt = difflib.get_close_matches(text.split(maxsplit=1)[0], KINDS, cutoff=0.75)  # "chops 4090"
    if subject != text and not misspelt:
        return search(subject, today=today)
    raise AskError(say('nothing found for "{text}"', text=text[:80]), hint=_instead(text, today))


def _subjects(text: str) -> Iterator[str]:
    """What a whole question is about: the one thing it names, else its words without those that ask."""
    names = [mention.text for mention in mentions(text)]
    yield from names[:1] if len(names) == 1 and names[0] != text else ()
    bare = _ASKING.sub(" ", text).strip(" ?？。")
    if bare and bare != text and len(names) < 2:
        yield bare


def _instead(text: str, today: date) -> Sentence:
    """What to type where nothing is found: several machines are compared, a misspelt name is put right."""
    names = [mention.text for mention in mentions(text)]
    near = ", ".join(_near(text, today))
    if len(names) > 1:
        return say("did you mean {near}?", near=shlex.join(["rigright", "compare", *names]))
    if near:
        return say("did you mean {near}?", near=near)
    return say("`{see}` lists all", see="rigright look-up")


def _near(text: str, today: date) -> list[str]:
    """Names of things that are written much alike."""
    names = [
        str(kind.fields[0].read(record))
        for kind in (find_kind(name) for name in _NAMED if name not in _APART)
        for record in kind.records(LookUpQuery(today=today))
    ]
    known = {name.casefold().split(" ", 1)[-1]: name for name in names} | {
        name.casefold(): name for name in names
    }
    close = difflib.get_close_matches(text.casefold()[:60], known, n=_MOST_NEAR, cutoff=0.75)
    return [known[name] for name in close]


def _hits(text: str, today: date) -> Iterator[Listing]:
    """The one record a text names, of each kind that has such a record."""
    for name in _NAMED:
        kind = find_kind(name)
        record = _named(kind, LookUpQuery(words=(text,), today=today))
        if record is not None:
            yield Listing(kind=kind, records=(record,), total=1)


def _named(kind: ListingKind, asked: LookUpQuery) -> Any:
    """The record that bears a name: by the kind's own reader of names, else by its key."""
    wanted = asked.text.strip().casefold()
    keys = [field for field in kind.fields if field.key in {"id", "name", "label"}]
    try:
        if kind.named is not None:
            return kind.named(asked)
        for record in kind.records(asked):
            if any(str(field.read(record)).casefold() == wanted for field in keys):
                return record
    except RigError:
        pass
    return None


def _speaking(name: str, text: str, *, today: date) -> Listing | None:
    """The records of a kind that a text finds, the first few of them."""
    kind = find_kind(name)
    asked = LookUpQuery(words=tuple(_SEAM.sub(" ", text).split()), today=today)
    try:
        records = _records(kind, asked)
    except RigError:
        return None
    also = saying(kind, records, words=asked.words)
    return Listing(kind=kind, records=records[:_FIRST], total=len(records), also=also) if records else None
