"""Which table of terms an engine goes by: its own, or that of its back end or of its age."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rigright.facts.engines import Engine

_DATE = re.compile(r"(20\d\d)-(\d\d)")
_BUILD = re.compile(r"\bb(\d{2,})\b")
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
    if dated := _DATE.search(version):
        return "date" not in era or dated[0] < era["date"]
    if built := _BUILD.search(version):
        return "build" not in era or int(built[1]) < era["build"]
    if numbered := _NUMBER.match(version):
        return "before" not in era or _order(numbered[1]) < _order(era["before"])
    return not {"date", "build", "before"} & era.keys()


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
