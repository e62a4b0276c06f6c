"""Which table of terms an engine goes by: its own, or that of its back end or of its age."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rigright.facts.engines import Engine

_DATE = re.compile(r"(20\d\d)-(\d\d)")
_BUILD = re.compile(r"\bb(\d{2,})\b")
LIMITS = frozenset({"date", "build", "before"})
_NUMBER = re.compile(r"\s*v?(\d+(?:\.\d+)+)")


def table_of(tables: Mapping[str, Any], engine: Engine, *, vendor: str) -> str | None:
    """The name of an engine's table on chips of a vendor; None where these corrections bear none."""
    asked = tables.get("same", {}).get(engine.id, engine.id)
    eras = ((name, era) for name, era in tables.get("eras", {}).items() if era["engine"] == asked)
    version = engine.version.lower()
    found = next((name for name, era in eras if _is_of(era, version, vendor=vendor)), None)
    return found or (asked if asked in tables["engines"] else None)


def _is_of(era: Mapping[str, Any], version: str, *, vendor: str) -> bool:
    spoken = "word" not in era or era["word"] in version
    return spoken and era.get("vendor", vendor) == vendor and _is_before(era, version)


def _is_before(era: Mapping[str, Any], version: str) -> bool:
    """Versions are told as a date, as a build, or as numbers; what is told otherwise is new."""
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
