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
        found, _ = bounded_json_at(text, start)
    except ValueError:
        return None
    return (
        found if isinstance(found, dict) and any(isinstance(found.get(one), dict) for one in _ROOTS) else None
    )


def diagnosed(found: dict[str, Json]) -> tuple[Diagnosed, ...]:
    """Every test on every card."""
    told = (one for test in _tests(_root(found)) for one in _results(test))
    return tuple(one for one, _ in zip(told, range(MOST_TESTS), strict=False))


def driver(found: dict[str, Json]) -> str | None:
    """The driver that it saw."""
    places = (found, _dict(found.get("metadata")), _root(found))
    told = (place.get(name) for place in places for name in _DRIVER)
    return next((one for one in told if isinstance(one, str)), None)


def device_ids(found: dict[str, Json]) -> dict[int, str]:
    """Card -> its device id on the bus, as four hex digits."""
    ids: dict[int, str] = {}
    for group in _dicts(found.get("entity_groups")):
        for one in _dicts(group.get("entities")) if group.get("entity_group") == "GPU" else ():
            index, told = _index(one.get("entity_id")), one.get("device_id")
            if index is not None and isinstance(told, str):
                ids[index] = told.lower()
    listed = _root(found).get("gpu_device_ids")
    if isinstance(listed, list):
        ids |= {place: one.lower() for place, one in enumerate(listed[:_MOST_CARDS]) if isinstance(one, str)}
    return ids


def _root(found: dict[str, Json]) -> dict[str, Json]:
    return next((_dict(found[name]) for name in _ROOTS if name in found), {})


def _tests(root: dict[str, Json]) -> Iterator[dict[str, Json]]:
    yield from _dicts(root.get("tests"))
    for category in _dicts(root.get("test_categories")):
        yield from _dicts(category.get("tests"))


def _results(test: dict[str, Json]) -> Iterator[Diagnosed]:
    """What it says of each card; its summary where it names none."""
    name = plain(str(test.get("name", "?")))
    results = _dicts(test.get("results")) or _dicts([test.get("test_summary")])
    for one in results:
        for card in _cards(one):
            yield _result(name, card, told=one)


def _result(name: str, card: int | None, *, told: dict[str, Json]) -> Diagnosed:
    warnings = told.get("warnings")
    parts = warnings if isinstance(warnings, list) else [] if warnings is None else [warnings]
    errors = _dicts(parts)
    said = (one.get("warning") if isinstance(one, dict) else one for one in parts)
    return Diagnosed(
        test=name,
        outcome=outcome_of(str(told.get("status", ""))),
        card=card,
        says=tuple(plain(one) for one in said if isinstance(one, str)),
        code=next((code for one in errors if (code := _index(one.get("error_id"))) is not None), None),
        advice=next(
            (_ADVICE[grave] for one in errors if (grave := one.get("error_severity")) in _ADVICE), None
        )
        if all(isinstance(one.get("error_severity"), int) for one in errors)
        else None,
    )


def _cards(told: dict[str, Json]) -> tuple[int | None, ...]:
    if told.get("entity_group", "GPU") == "GPU" and _index(told.get("entity_id")) is not None:
        return (_index(told["entity_id"]),)
    listed = [_index(one) for one in str(told.get("gpu_ids", "")).split(",")[:_MOST_CARDS]]
    return tuple(one for one in listed if one is not None) or (None,)


def _index(told: Json) -> int | None:
    if isinstance(told, str) and told.strip().isdecimal() and len(told) < 9:
        told = int(told)
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 <= told < _MOST_NUMBER else None


def _dict(told: Json) -> dict[str, Json]:
    return told if isinstance(told, dict) else {}


def _dicts(told: Json) -> list[dict[str, Json]]:
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
