"""Records as plain data, for JSON: the record is the answer.

A record prints its fields, by their names and in their order, then its `derived` properties. The type of a
field says how: `Inner` not at all, `Flat` its keys among those of its owner, `Sparse` only where it is not
None, `Pairs` as an object. A row of a table that has `PRINTED_AS` is printed as that field, such as its id.

Bytes are whole numbers. The keys that scripts may count on are those of `--schema`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from rigright.base.record import derived
from rigright.base.words import Sentence, tell

SCHEMA_VERSION = 2  # of every answer: raised when a key goes or changes its meaning
Laws = Mapping[str, Callable[[Any], object]]
Given = Mapping[type, Laws]
_SIGNS = {"Flat": "*", "Sparse": "?"}


class Key(NamedTuple):
    """One key: its name, the way to what it tells, and how."""

    name: str
    way: tuple[str, ...]
    sign: str = ""  # "?" may be left out, "!" a page gives, "*" its keys stand here
    pairs: bool = False
    given: bool = False  # by its page


def keys_of(kind: Any, given: Laws) -> tuple[Key, ...]:
    """What a record of this kind prints: what its page gives, then its own."""
    hints = ((name, law.__annotations__["return"]) for name, law in given.items())
    return (*(_key(name, hint)._replace(given=True) for name, hint in hints), *_own_keys(kind))


@cache
def _own_keys(kind: Any) -> tuple[Key, ...]:
    fields = dict(kind.__annotations__)
    fields |= {
        name: value.fget.__annotations__["return"]
        for name, value in vars(kind).items()
        if isinstance(value, derived)
    }
    return tuple(_key(name, hint) for name, hint in fields.items() if not _text(hint).startswith("Inner["))


def _text(hint: Any) -> str:
    """An annotation as it is written; that of a tuple with named places is wrapped."""
    return str(getattr(hint, "__forward_arg__", hint))


def _key(name: str, hint: Any) -> Key:
    how = _text(hint).partition("[")[0]
    return Key(name, (name,), _SIGNS.get(how, ""), how == "Pairs")


def is_record(kind: object) -> bool:
    """Whether it is a record's class, or one of its records; a tuple whose places have names is one, too."""
    return hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields")


class RecordPrinter:
    """All that a verb tells of its record; `given` says what only a page can, from the record in hand.

    Other records that it holds are stated as `others` say; what has no limit is `endless`, else null.
    """

    def __init__(
        self,
        kind: Any,
        *others: RecordPrinter,
        endless: str | None = None,
        keys: Sequence[str] | None = None,  # instead of its own: "chip=rents", "error?", "notes!"
        **given: Callable[[Any], object],
    ) -> None:
        self.kind, self.endless = kind, endless
        self.keys = None if keys is None else tuple(map(_named, keys))
        laws = {kept: law for other in others for kept, law in other.given.items()}
        self.given: Given = laws | {kind: {**laws.get(kind, {}), **given}}

    def __call__(self, record: object, language: str) -> dict[str, Any]:
        """One record as data."""
        telling = _Telling(language, self.given, self.endless)
        own = self.given[self.kind]
        return telling.object(record, self.keys or keys_of(self.kind, own), own=own)


class _Telling(NamedTuple):
    language: str
    given: Given
    endless: str | None

    def data(self, thing: Any) -> Any:
        """Anything as data."""
        if isinstance(thing, float) and math.isinf(thing):
            return self.endless
        if isinstance(thing, (str, int, float, type(None))):
            return thing
        if isinstance(thing, Sentence):
            return tell(thing, self.language)
        if isinstance(thing, Mapping):
            return {str(key): self.data(value) for key, value in thing.items()}
        if isinstance(thing, frozenset):
            thing = sorted(thing)
        if isinstance(thing, (tuple, list)) and not is_record(thing):
            return [self.data(item) for item in thing]
        return self.record(thing) if is_record(thing) else thing

    def record(self, record: object) -> Any:
        """A record as an object, or as what stands for it."""
        kind: Any = type(record)
        if reference := vars(kind).get("PRINTED_AS"):
            return getattr(record, reference)
        own = self.given.get(kind, {})
        return self.object(record, keys_of(kind, own), own=own)

    def object(self, thing: object, keys: tuple[Key, ...], *, own: Laws) -> dict[str, Any]:
        """What is told of it by these keys."""
        fields: dict[str, Any] = {}
        for key in keys:
            if key.name in own:
                value: Any = own[key.name](thing)
            elif key.given or "!" in key.sign:
                continue
            else:
                value = _value_at(thing, key.way)
            if key.sign == "*":
                fields |= self.data(value)
            elif value is not None or "?" not in key.sign:
                whole = dict(value) if key.pairs and value is not None else value
                fields[key.name] = _whole(self.data(whole), key)
        return fields


def _named(text: str) -> Key:
    """A key as a listing writes it."""
    name, _, way = text.partition("=")
    plain = name.rstrip("!?")
    return Key(plain, tuple((way or plain).split(".")), name[len(plain) :])


def _value_at(thing: Any, way: tuple[str, ...]) -> Any:
    """What lies at the end of the way; of a list, what lies there for each."""
    if len(way) == 1 and way[0] and is_record(thing):  # as most are
        return getattr(thing, way[0])
    for place, name in enumerate(way):
        if not name:
            continue
        if name.isdecimal() and thing is not None:
            thing = thing[int(name)]
            continue
        if isinstance(thing, (tuple, list)):
            return [_value_at(value, way[place:]) for value in thing]
        if thing is None:
            return None
        thing = getattr(thing, name)
    return thing


def _whole(value: Any, key: Key) -> Any:
    """Bytes as whole numbers, wherever they stand under a key that says so."""
    if not key.name.endswith("_bytes") and not key.way[-1].endswith("_bytes"):
        return value
    if isinstance(value, dict):
        return {part: _whole(size, key) for part, size in value.items()}
    if isinstance(value, list):
        return [_whole(size, key) for size in value]
    return round(value) if isinstance(value, float) and math.isfinite(value) else value
