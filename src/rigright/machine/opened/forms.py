"""What a text may be: the rows of `data/pasted.toml`, how each is known in a section and what it reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.patterns import pattern
from rigright.base.tables import DATA, read_toml
from rigright.machine.device import Device, device_from, maker_of
from rigright.machine.opened.text import Section
from rigright.machine.record import Machine, Read
from rigright.machine.values import read_value

_MOST_CARDS = 512
_KINDS = {"_bytes": "bytes", "_w": "w", "_c": "c", "_hz": "hz", "_share": "share"}  # of a group of a pattern


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a field stands: in the group of a pattern, or it is what a pattern means."""

    find: re.Pattern[str]
    meaning: str | None

    def value(self, text: str) -> str | None:
        """What stands there."""
        match = self.find.search(text)
        return None if match is None else self.meaning or match[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PastedForm:
    """One form of text; the columns are those of the table."""

    name: str  # as people call it
    typed: str | None = None
    marks: tuple[re.Pattern[str], ...] = ()
    unless: re.Pattern[str] | None = None
    looked_at: int | None = None
    json: str | None = None
    knows: str | None = None
    parse: str | None = None
    read: str | None = None
    head: bool = False
    as_text: str | None = None
    fields: Mapping[str, tuple[_Place, ...]] = field(default_factory=dict)
    cards: tuple[re.Pattern[str], ...] = ()
    together: str | None = None
    rest: bool = False
    log: bool = False

    def matches(self, section: Section) -> bool:
        """Whether a section holds some of it."""
        if self.typed is not None and section.head.startswith(self.typed):
            return True
        if self.parse is not None:
            return bool(_function(self.parse)(section.text))
        if self.knows is not None:
            return bool(_function(self.knows)(*self._given(section)))
        text = section.text[: self.looked_at]
        is_marked = any(mark.search(text) for mark in self.marks)
        is_marked = is_marked or (self.json is not None and self.json in json_object(text))
        return is_marked and not (self.unless and self.unless.search(text))

    def reading(self, section: Section) -> Read:
        """What a section tells."""
        if self.parse is not None and self.read is not None:
            return _function(self.read)(_function(self.parse)(section.text))  # type: ignore[no-any-return]
        if self.read is not None:
            return _function(self.read)(*self._given(section))  # type: ignore[no-any-return]
        if not self.fields and not self.cards:
            return Read(fields={"events": ()})
        text = (self.as_text and _function(self.as_text)(section.text)) or section.text
        devices = _devices(text, self.cards)
        return Read(fields={**_records(text, self.fields), **({"devices": devices} if devices else {})})

    def _given(self, section: Section) -> tuple[str, ...]:
        return (section.text, section.head) if self.head else (section.text,)


@cache
def forms() -> tuple[PastedForm, ...]:
    """All of them, in the order of the table."""
    return tuple(map(_form, read_toml(DATA / "pasted.toml")["form"]))


@cache
def fault_forms() -> frozenset[str]:
    """The names of those that hold nothing but messages of faults."""
    return frozenset(form.name for form in forms() if form.rest and form.knows is None)


def forms_of(section: Section) -> Iterator[PastedForm]:
    """Every form that a section holds some of."""
    known = [form for form in forms() if not form.rest and form.matches(section)]
    yield from known
    if all(form.log for form in known):
        yield from (form for form in forms() if form.rest and form.matches(section))


def _form(row: Mapping[str, Any]) -> PastedForm:
    made = dict(row)
    for name in ("marks", "cards"):
        made[name] = tuple(pattern(text, re.MULTILINE) for text in row.get(name, ()))
    if "unless" in row:
        made["unless"] = pattern(row["unless"])
    made["fields"] = {name: tuple(_places(cell)) for name, cell in row.get("fields", {}).items()}
    return PastedForm(**made)


def _places(cell: Any) -> Iterator[_Place]:
    for item in cell if isinstance(cell, list) else [cell]:
        pair = item if isinstance(item, dict) else {"find": item}
        yield _Place(pattern(pair["find"], re.MULTILINE), pair.get("is"))


@cache
def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    return getattr(import_module(f"rigright.machine.{module}"), name)  # type: ignore[no-any-return]


def _records(text: str, rows: Mapping[str, tuple[_Place, ...]]) -> dict[str, Any]:
    """The machine's records whose fields stand in the text."""
    parts: dict[str, dict[str, str]] = {}
    for where, places in rows.items():
        value = next((value for place in places if (value := place.value(text)) is not None), None)
        if value is not None:
            record, _, name = where.partition(".")
            parts.setdefault(record, {})[name] = value
    kinds = {part.name: part.default_factory for part in fields(Machine)}
    return {record: kinds[record](**values) for record, values in parts.items()}  # type: ignore[operator]


def _devices(text: str, patterns: tuple[re.Pattern[str], ...]) -> tuple[Device, ...]:
    """A card wherever a pattern stands; of one that stands twice the first counts."""
    devices: dict[int, Device] = {}
    for find in patterns:
        for match in islice(find.finditer(text), _MOST_CARDS):
            groups = {name.replace("__", "."): value for name, value in match.groupdict().items()}
            index = int(groups.pop("index"))
            values = {name: read_value(_kind(name), value) for name, value in groups.items()}
            known = {name: value for name, value in values.items() if value is not None}
            vendor = maker_of(str(known.get("name", "")))
            devices.setdefault(index, device_from(known, vendor=vendor, index=index))
    return tuple(devices[index] for index in sorted(devices))


def _kind(name: str) -> str:
    return next((kind for ending, kind in _KINDS.items() if name.endswith(ending)), "text")
