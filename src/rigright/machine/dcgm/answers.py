"""The JSON of `dcgmi diag --json`: of DCGM 3 by cards in one word, of DCGM 4 by entities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import bounded_json_at
from rigright.machine.dcgm.words import MOST_TESTS, outcome_of, plain
from rigright.machine.system import Diagnosed

Json = Any
_ROOTS = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_ADVICE = {1: "monitor", 2: "isolate", 4: "triage", 5: "configure", 6: "reset"}  # dcgmErrorSeverity_t
_DRIVER = ("Driver Version Detected", "driver_version_detected", "Driver Version")
_MOST_CARDS, _MOST_NUMBER = 512, 2**31


def document(text: str) -> dict[str, Json] | None:
    """The answer, be there lines before it; None where there is none."""
    start = text.find("{")
    if start < 0 or not any(f'"{root}"' in text for root in _ROOTS):
        return None
    try:
        value, _ = bounded_json_at(text, start)
    except ValueError:
        return None
    return (
        value
        if isinstance(value, dict) and any(isinstance(value.get(item), dict) for item in _ROOTS)
        else None
    )


def diagnosed(fields: dict[str, Json]) -> tuple[Diagnosed, ...]:
    """Every test on every card."""
    diagnosis = (result for test in _tests(_root(fields)) for result in _results(test))
    return tuple(item for item, _ in zip(diagnosis, range(MOST_TESTS), strict=False))


def driver(fields: dict[str, Json]) -> str | None:
    """The driver that it saw."""
    places = (fields, _dict(fields.get("metadata")), _root(fields))
    values = (place.get(name) for place in places for name in _DRIVER)
    return next((value for value in values if isinstance(value, str)), None)


def device_ids(fields: dict[str, Json]) -> dict[int, str]:
    """Card -> its device id on the bus, as four hex digits."""
    ids: dict[int, str] = {}
    for group in _dicts(fields.get("entity_groups")):
        for row in _dicts(group.get("entities")) if group.get("entity_group") == "GPU" else ():
            index, value = _index(row.get("entity_id")), row.get("device_id")
            if index is not None and isinstance(value, str):
                ids[index] = value.lower()
    listed = _root(fields).get("gpu_device_ids")
    if isinstance(listed, list):
        ids |= {
            place: item.lower() for place, item in enumerate(listed[:_MOST_CARDS]) if isinstance(item, str)
        }
    return ids


def _root(fields: dict[str, Json]) -> dict[str, Json]:
    return next((_dict(fields[name]) for name in _ROOTS if name in fields), {})


def _tests(root: dict[str, Json]) -> Iterator[dict[str, Json]]:
    yield from _dicts(root.get("tests"))
    for category in _dicts(root.get("test_categories")):
        yield from _dicts(category.get("tests"))


def _results(test: dict[str, Json]) -> Iterator[Diagnosed]:
    """What it says of each card; its summary where it names none."""
    name = plain(str(test.get("name", "?")))
    results = _dicts(test.get("results")) or _dicts([test.get("test_summary")])
    for result in results:
        for card in _cards(result):
            yield _result(name, card, fields=result)


def _result(name: str, card: int | None, *, fields: dict[str, Json]) -> Diagnosed:
    warnings = fields.get("warnings")
    parts = warnings if isinstance(warnings, list) else [] if warnings is None else [warnings]
    errors = _dicts(parts)
    values = (part.get("warning") if isinstance(part, dict) else part for part in parts)
    return Diagnosed(
        test=name,
        outcome=outcome_of(str(fields.get("status", ""))),
        card=card,
        says=tuple(plain(value) for value in values if isinstance(value, str)),
        code=next((code for error in errors if (code := _index(error.get("error_id"))) is not None), None),
        advice=next(
            (_ADVICE[grave] for error in errors if (grave := error.get("error_severity")) in _ADVICE), None
        )
        if all(isinstance(error.get("error_severity"), int) for error in errors)
        else None,
    )


def _cards(fields: dict[str, Json]) -> tuple[int | None, ...]:
    if fields.get("entity_group", "GPU") == "GPU" and _index(fields.get("entity_id")) is not None:
        return (_index(fields["entity_id"]),)
    listed = [_index(text) for text in str(fields.get("gpu_ids", "")).split(",")[:_MOST_CARDS]]
    return tuple(number for number in listed if number is not None) or (None,)


def _index(value: Json) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_NUMBER
        else None
    )


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
