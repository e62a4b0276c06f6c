"""Published runs that drafted tokens without a column that says so: known by engine, version and day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.arch.record import Arch
from rigright.base.tables import DATA, CellReader, Row, number, read_rows, text

COLUMNS = ("engine", "version", "from", "drafted_tok", "accepted_tok", "source", "as_of", "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDrafts:
    """Tokens drafted for each pass of a sequence, and those kept on average."""

    drafted_tok: float = 0.0
    accepted_tok: float = 0.0


NO_DRAFTS = ServedDrafts()


def drafts_of(row: Row, arch: Arch, *, engine: str) -> ServedDrafts:
    """What a run drafted: models that bring layers for it, in versions and from days on when it was set."""
    version, day = row.get("engine_version") or "", row.get("measured") or ""
    if row.get("disagg") or not any(tower.name == "mtp" for tower in arch.spare):
        return NO_DRAFTS
    return next(
        (
            ServedDrafts(drafted_tok=known["drafted_tok"], accepted_tok=known["accepted_tok"])
            for known in _known()
            if known["engine"] == engine and version.startswith(known["version"]) and day >= known["from"]
        ),
        NO_DRAFTS,
    )


@cache
def _known() -> tuple[Row, ...]:
    readers: dict[str, CellReader] = dict.fromkeys(COLUMNS, text)
    readers |= {"drafted_tok": number, "accepted_tok": number}
    return tuple(read_rows(DATA / "drafted_runs.csv", readers, required=COLUMNS))
