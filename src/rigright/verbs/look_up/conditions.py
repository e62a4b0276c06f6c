"""Conditions such as "memory>=24GB": read against the fields of a kind, and tested on records."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.report.listing import Field

_CONDITION = re.compile(r"\s*([A-Za-z][\w .-]*?)\s*(>=|<=|!=|==|=|>|<|~)\s*(.*?)\s*\Z")
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
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

    field: Field
    sign: str
    value: Any

    def holds(self, record: object) -> bool:
        """Whether a record meets it."""
        found = self.field.read(record)
        if found is None:
            return False
        if self.sign == "~":
            return str(self.value).casefold() in _as_text(found)
        if isinstance(found, str) or isinstance(self.value, str):
            return _TESTS[self.sign](_as_text(found), _as_text(self.value))
        return _TESTS[self.sign](found, self.value)


def read_condition(text: str, fields: tuple[Field, ...]) -> Condition:
    """Read one condition; a number without a unit is in the unit of the column's head."""
    match = _CONDITION.match(text)
    if match is None or not match.group(3):
        raise AskError(
            say('cannot read the condition "{text}"; write for example memory>=24GB or vendor=AMD', text=text)
        )
    field = find_field(match.group(1), fields)
    return Condition(field=field, sign=match.group(2), value=_read_value(match.group(3), field))


def find_field(name: str, fields: tuple[Field, ...]) -> Field:
    """The field of a name: its key, a shorter name, or the start of only one of these."""
    wanted = name.strip().lower().replace(" ", "_").replace("-", "_")
    for field in fields:
        if wanted in {field.key, *field.names}:
            return field
    starting = {
        field.key: field
        for field in fields
        for known in (field.key, *field.names)
        if known.startswith(wanted)
    }
    if len(starting) == 1:
        return next(iter(starting.values()))
    raise AskError(
        say(
            'there is no field "{name}"; there are {fields}',
            name=name.strip(),
            fields=", ".join(starting or [_shortest(field) for field in fields]),
        )
    )


def sort_records(
    records: Iterable[Any], name: str, *, fields: tuple[Field, ...], backwards: bool = False
) -> tuple[Any, ...]:
    """Sort by a field: numbers from the largest, words and dates from A; what is unknown comes last."""
    field = find_field(name, fields)
    records = tuple(records)
    known = [record for record in records if field.read(record) is not None]
    unknown = [record for record in records if field.read(record) is None]
    numbers = all(isinstance(field.read(record), int | float) for record in known)

    def rank(record: object) -> Any:
        return field.read(record) if numbers else _as_text(field.read(record))

    return (*sorted(known, key=rank, reverse=numbers != backwards), *unknown)


def _shortest(field: Field) -> str:
    return min((field.key, *field.names), key=len)


def _read_value(text: str, field: Field) -> Any:
    if field.parse is not None:
        return field.parse(text)
    try:
        return float(text) * field.scale
    except ValueError:
        return text


def _as_text(value: object) -> str:
    return str(value).casefold()
