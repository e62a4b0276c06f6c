"""Which table of terms applies to an engine: its own, or that of its back end or age."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rigright.facts.chips import Chip
from rigright.facts.engines import Engine

_DATE = re.compile(r"20\d\d-\d\d(?:-\d\d)?")
_BUILD = re.compile(r"(?:\bb|\A)(\d{3,6})\b(?![.-])")
LIMITS = frozenset({"date", "build", "before"})
_NUMBER = re.compile(r"\s*v?(\d+(?:\.\d+)+)")


def table_of(tables: Mapping[str, Any], engine: Engine, *, chip: Chip) -> str | None:
    """The name of an engine's table on a chip; None where these corrections bear none."""
    asked = tables.get("same", {}).get(engine.id, engine.id)
    eras = ((name, era) for name, era in tables.get("eras", {}).items() if era["engine"] == asked)
    kind = chip.kind
    here = {
        "backend": {engine.backend_on(chip.vendor)},
        "vendor": {chip.vendor},
        "classes": {kind.id, kind.kin},
    }
    value = next((name for name, era in eras if _is_of(era, engine, here=here)), None)
    return value or (asked if asked in tables["engines"] else None)


def is_dated(version: str) -> bool:
    """Whether a version tells its age: as a date, a build or numbers."""
    return any(pattern.search(version) for pattern in (_DATE, _BUILD)) or bool(_NUMBER.match(version))


def _is_of(era: Mapping[str, Any], engine: Engine, *, here: Mapping[str, set[str]]) -> bool:
    for name, own in here.items():
        if name in era and own.isdisjoint([era[name]] if isinstance(era[name], str) else era[name]):
            return False
    built = "option" not in era or era["option"] in engine.options
    return built and _is_before(era, engine.version.lower())


def _is_before(era: Mapping[str, Any], version: str) -> bool:
    """Versions are stated as a date, as a build, or as numbers; what is stated otherwise is new."""
    if not LIMITS & era.keys():
        return True
    if dated := _DATE.search(version):
        return dated[0] < str(era.get("date", ""))
    if built := _BUILD.search(version):
        return int(built[1]) < int(era.get("build", 0))
    numbered = _NUMBER.match(version)
    return numbered is not None and _order(numbered[1]) < _order(str(era.get("before", "0")))


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
