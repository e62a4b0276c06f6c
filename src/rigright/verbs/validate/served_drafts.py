"""Published runs that drafted tokens without a column that says so: known by engine, version and day."""

from __future__ import annotations

from functools import cache

from rigright.arch.record import Arch
from rigright.base.tables import DATA, CellReader, Row, number, read_rows, text

COLUMNS = ("engine", "version", "from", "drafted_tok", "accepted_tok", "source", "as_of", "confidence")


def drafts_of(row: Row, arch: Arch, *, engine: str) -> tuple[float, float]:
    """Tokens drafted for each pass of a sequence, and those kept on average.

    Models that bring layers for it do so in versions and from days on when it was set.
    """
    version, day = row.get("engine_version") or "", row.get("measured") or ""
    if row.get("disagg") or not any(tower.name == "mtp" for tower in arch.spare):
        return 0.0, 0.0
    return next(
        (
            (known["drafted_tok"], known["accepted_tok"])
            for known in _known()
            if known["engine"] == engine and version.startswith(known["version"]) and day >= known["from"]
        ),
        (0.0, 0.0),
    )


@cache
def _known() -> tuple[Row, ...]:
    readers: dict[str, CellReader] = dict.fromkeys(COLUMNS, text)
    readers |= {"drafted_tok": number, "accepted_tok": number}
    return tuple(read_rows(DATA / "drafted_runs.csv", readers, required=COLUMNS))
