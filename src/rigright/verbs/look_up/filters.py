"""What a record must meet: words in its texts, and conditions such as "memory>=24GB" on its fields."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from rigright.base.errors import AskError, unknown
from rigright.base.record import dataclass
from rigright.base.units import NO, YES
from rigright.base.words import CHINESE, ENGLISH, Sentence, say, tell
from rigright.verbs.look_up.listing import ListingField, ListingKind, LookUpQuery

Record = TypeVar("Record")
_ASIDE = frozenset({"id", "notes", "source", "sources", "as_of", "confidence"})  # what is said about a record
_MOST_SHOWN = 12  # words of a field that a note lists
_CONDITION = re.compile(r"\s*([^\W\d_][\w .-]*?)\s*(>=|≥|<=|≤|!=|==|=|>|<|~)\s*(.*?)\s*\Z")
_ANSWERS = {"是": True, "有": True, "否": False, "没有": False, "无": False}
_ANSWERS |= {word: word in YES for word in YES | NO if not word.isdecimal()}
_NONE = (None, False, 0, (), "n", "no", "")  # what is not there
_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:-[0-9]{2}){0,2}")  # a year stands for all its months
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "≥": operator.ge,
    "≤": operator.le,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A test on one field; a record whose field is unknown fails it."""

    field: ListingField
    sign: str
    text: str  # the value as written
    value: Any  # what it says of a number
    has: bool | None = None  # whether there is any, where that is all that is asked: "fp8=yes", "ecc"

    def holds(self, record: object) -> bool:
        """Whether a record meets it."""
        value = self.field.read(record)
        if self.has is not None:
            return self.has == (value not in _NONE)
        if isinstance(value, list | tuple):
            return (all if self.sign == "!=" else any)(map(self._meets, value))
        return value is not None and self._meets(value)

    def _meets(self, value: object) -> bool:
        """Whether one value does."""
        if self.sign == "~":
            return self.text.casefold() in _as_text(value)
        if not isinstance(value, int | float) or isinstance(self.value, str):
            text = _as_text(value)
            exact = text[: len(self.text)] if _DATE.fullmatch(self.text) and _DATE.match(text) else text
            return _TESTS[self.sign](_in_order(exact), _in_order(self.text.casefold()))
        return _TESTS[self.sign](value, self.value)


def read_condition(text: str, fields: tuple[ListingField, ...]) -> Condition:
    """Read one condition; a number without a unit is in the unit of the column's head."""
    match = _CONDITION.match(text)
    if match is None and any(text.strip().lower() in {field.key, *field.names} for field in fields):
        match = _CONDITION.match(f"{text}=yes")
    if match is None or not match.group(3):
        raise AskError(
            say('cannot read the filter "{text}"; for example memory>=24GB or vendor=AMD', text=text)
        )
    field = find_field(match.group(1), fields)
    value, sign = match.group(3), match.group(2)
    has = _ANSWERS.get(value.casefold()) if sign in {"=", "==", "!="} else None
    if has is not None:
        return Condition(field=field, sign=sign, text=value, value=value, has=has == (sign != "!="))
    return Condition(field=field, sign=sign, text=value, value=_read_value(value, field))


def why_none(conditions: Iterable[Condition], records: tuple[Any, ...]) -> tuple[Sentence, ...]:
    """What the fields say instead, where they never say the word that was asked for."""
    notes = (
        _never_met(condition, records)
        for condition in conditions
        if not any(condition.holds(record) for record in records)
    )
    return tuple(note for note in notes if note is not None)


def _never_met(condition: Condition, records: Iterable[object]) -> Sentence | None:
    values = [value for value in map(condition.field.read, records) if value is not None]
    words = sorted({str(value) for value in values if isinstance(value, str | bool)})
    if condition.sign not in {"=", "=="} or not words or len(words) < len(set(map(str, values))):
        return None
    small = {word.casefold(): word for word in words}
    near = difflib.get_close_matches(condition.text.casefold(), small, n=3, cutoff=0.5)
    return say(
        'no record has {field} "{value}"; known: {values}',
        field=condition.field.key,
        value=condition.text,
        values=", ".join(
            [small[word] for word in near] or [*words[:_MOST_SHOWN], *["..."] * (len(words) > _MOST_SHOWN)]
        ),
    )


def find_field(name: str, fields: tuple[ListingField, ...]) -> ListingField:
    """The field of a name: its key, a shorter name, or the start of only one of these."""
    wanted = name.strip().lower().replace(" ", "_").replace("-", "_")
    for field in fields:
        if wanted in {field.key, *field.names} or wanted in _heads(field):
            return field
    starting = {
        field.key: field
        for field in fields
        for known in (field.key, *field.names)
        if known.startswith(wanted)
    }
    if len(starting) == 1:
        return next(iter(starting.values()))
    names = [name for field in fields for name in (field.key, *field.names)]
    near = list(starting) or difflib.get_close_matches(wanted, names, n=3, cutoff=0.7)
    shortest = [min((field.key, *field.names), key=len) for field in fields]
    raise unknown(say("field"), name.strip(), near=near, known=shortest)


def _heads(field: ListingField) -> set[str]:
    """What stands over its column, in either language, with and without the unit behind it."""
    heads = {tell(field.head, language).lower().replace(" ", "_") for language in (ENGLISH, CHINESE)}
    return heads | {head.partition("_")[0] for head in heads if not head.isascii()}


def sort_records(
    records: Iterable[Any], name: str, *, fields: tuple[ListingField, ...], backwards: bool = False
) -> tuple[Any, ...]:
    """Sort by a field: numbers from the largest, words and dates from A; what is unknown comes last."""
    field = find_field(name, fields)
    records = tuple(records)
    known = [record for record in records if field.read(record) is not None]
    unknown = [record for record in records if field.read(record) is None]
    numbers = all(isinstance(field.read(record), int | float) for record in known)

    def rank(record: object) -> Any:
        return field.read(record) if numbers else _in_order(_as_text(field.read(record)))

    return (*sorted(known, key=rank, reverse=numbers != backwards), *unknown)


def _read_value(text: str, field: ListingField) -> Any:
    if field.unit.parse is not None:
        return field.unit.parse(text)
    try:
        return float(text) * field.unit.scale
    except ValueError:
        return text


def _in_order(text: str) -> list[tuple[bool, int, str]]:
    """Words by their letters, the numbers in them by size: 2.9 before 2.10."""
    pieces = re.findall(r"[0-9]{1,18}|[^0-9]+", text)
    return [(not piece.isdigit(), int(piece) if piece.isdigit() else 0, piece) for piece in pieces]


def _as_text(value: object) -> str:
    return str(value).casefold()


def by_words(records: Callable[[], Iterable[Any]], *keys: str) -> Callable[[LookUpQuery], tuple[Any, ...]]:
    """A finder of the records in whose fields every word stands; where none is, it suggests the nearest."""

    def text_of(record: object) -> str:
        values = (getattr(record, key) for key in keys)
        return " ".join(" ".join(value) if isinstance(value, tuple) else value or "" for value in values)

    def find(asked: LookUpQuery) -> tuple[Any, ...]:
        result = with_words(records(), asked.text, texts=text_of)
        if result:
            return result
        known = sorted({piece for record in records() for piece in text_of(record).casefold().split()})
        wanted = asked.text.casefold().split()
        lost = next((word for word in wanted if not any(word in piece for piece in known)), " ".join(wanted))
        near = difflib.get_close_matches(lost[:60], known, n=4, cutoff=0.6)
        if near:
            raise AskError(say('nothing matches "{text}"; closest: {near}', text=lost, near=", ".join(near)))
        raise AskError(say('nothing matches "{text}"', text=asked.text))

    return find


def with_words(records: Iterable[Record], text: str, *, texts: Callable[[Record], str]) -> tuple[Record, ...]:
    """The records in whose text each word begins a word, its numbers whole: "a3" is in no "a30"."""
    words = [
        re.compile(rf"(?<![^\W_]){re.escape(word)}(?!(?<=\d)\d)" if word.isascii() else re.escape(word))
        for word in text.casefold().split()
    ]
    return tuple(record for record in records if all(word.search(texts(record).casefold()) for word in words))


def speaking_of(kind: ListingKind, asked: LookUpQuery) -> tuple[Any, ...]:
    """The records of a kind in whose texts, in either language, every word stands."""
    records: tuple[Any, ...] = kind.records(asked)
    return with_words(
        records,
        asked.text,
        texts=lambda record: "\n".join(_tell_all(field.read(record)) for field in kind.fields),
    )


def saying(
    kind: ListingKind, records: tuple[Any, ...], *, words: tuple[str, ...]
) -> tuple[ListingField, ...]:
    """The unlisted columns in which every record says a word that was asked, and no listed one does."""
    columns = []
    for word in " ".join(words).casefold().split():
        fields = [
            field for field in kind.fields
            if field.key not in _ASIDE and all(word in _tell_all(field.read(record)) for record in records)
        ]  # fmt: skip
        if fields and not any(field.listed for field in fields):
            columns.append(fields[0])
    return tuple(dict.fromkeys(columns))


def _tell_all(value: Any) -> str:
    """A value in both languages, in small letters; a number says no word."""
    parts = value if isinstance(value, list | tuple) else [value]
    words = [part for part in parts if isinstance(part, str | Sentence)]
    return "\n".join(tell(word, language) for word in words for language in (ENGLISH, CHINESE)).casefold()
