"""How finely the history keeps what: seconds for a day, minutes for a month, then quarters of hours.

Ages count recorded time, not the clock: one that jumps ahead, or a week switched off, thins nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rigright.base.bounded import bounded_json
from rigright.base.units import MIB
from rigright.machine.history.blocks import packed, unpacked
from rigright.machine.history.columns import AT, MS, Row
from rigright.machine.history.file import whole
from rigright.machine.history.thinning import thinned

DAY_S = 86_400
BLOCK_ROWS = 600
MOST_BYTES = 512 * MIB  # of the file; then the oldest goes before its time
_LONGEST_STEP_MS = 600_000  # of a row's share in recorded time: a gap is not recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Grain:
    """Rows of one step in time, and for how long of recorded time they are kept."""

    step_s: int  # 0: as they came
    keep_s: int


GRAINS = (
    Grain(step_s=0, keep_s=DAY_S),
    Grain(step_s=60, keep_s=31 * DAY_S),
    Grain(step_s=900, keep_s=3 * 365 * DAY_S),
)


def put(connection: sqlite3.Connection, rows: Sequence[Row], *, grain_s: int) -> None:
    """Rows that wait to be packed."""
    for row in rows:
        put_text(connection, int(row[AT]), row=json.dumps(row, separators=(",", ":")), grain_s=grain_s)


def put_text(connection: sqlite3.Connection, at_ms: int, *, row: str, grain_s: int = 0) -> None:
    """One row that is written already."""
    connection.execute("INSERT INTO tick (grain_s, at_ms, row) VALUES (?, ?, ?)", (grain_s, at_ms, row))


def tidy(connection: sqlite3.Connection, *, most_bytes: int = MOST_BYTES) -> None:
    """Pack what waits, thin what is old, and keep the file within its bound."""
    with whole(connection):
        for place, grain in enumerate(GRAINS):
            _pack(connection, grain)
            after = GRAINS[place + 1] if place + 1 < len(GRAINS) else None
            while _span_s(connection, grain) > grain.keep_s:
                n, block = connection.execute(
                    "SELECT n, packed FROM block WHERE grain_s = ? ORDER BY n LIMIT 1", (grain.step_s,)
                ).fetchone()
                if after is not None:
                    put(connection, thinned(unpacked(block), after.step_s), grain_s=after.step_s)
                    _pack(connection, after)
                connection.execute("DELETE FROM block WHERE n = ?", (n,))
        pages, free, page = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        if int((pages - free) * page) > most_bytes:
            _drop_oldest(connection)
    connection.execute("PRAGMA incremental_vacuum(2000)").fetchall()


def _pack(connection: sqlite3.Connection, grain: Grain) -> None:
    """Whole blocks of waiting rows; fewer go on waiting."""
    while True:
        values = connection.execute(
            "SELECT n, row FROM tick WHERE grain_s = ? ORDER BY n LIMIT ?", (grain.step_s, BLOCK_ROWS)
        ).fetchall()
        if len(values) < BLOCK_ROWS:
            return
        rows: list[Row] = [bounded_json(row) for _, row in values]
        times = [int(row[AT]) for row in rows]
        steps = (min(after - before, _LONGEST_STEP_MS) for before, after in pairwise(sorted(times)))
        span_ms = max(sum(steps), grain.step_s * len(rows) * round(1 / MS))
        connection.execute(
            "INSERT INTO block (grain_s, from_ms, until_ms, span_ms, rows, packed) VALUES (?, ?, ?, ?, ?, ?)",
            (grain.step_s, min(times), max(times), span_ms, len(rows), packed(rows)),
        )
        connection.execute("DELETE FROM tick WHERE grain_s = ? AND n <= ?", (grain.step_s, values[-1][0]))


def _span_s(connection: sqlite3.Connection, grain: Grain) -> float:
    """Recorded time of packed rows."""
    (span_ms,) = connection.execute(
        "SELECT total(span_ms) FROM block WHERE grain_s = ?", (grain.step_s,)
    ).fetchone()
    return float(span_ms) * MS


def _drop_oldest(connection: sqlite3.Connection) -> None:
    """A tenth of the blocks that hold most, oldest first."""
    value = connection.execute(
        "SELECT grain_s, count(*) FROM block GROUP BY grain_s ORDER BY sum(length(packed)) DESC LIMIT 1"
    ).fetchone()
    if value:
        connection.execute(
            "DELETE FROM block WHERE n IN (SELECT n FROM block WHERE grain_s = ? ORDER BY n LIMIT ?)",
            (value[0], max(value[1] // 10, 1)),
        )
