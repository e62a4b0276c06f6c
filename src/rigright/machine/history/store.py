"""What this machine was and did: moments, benchmarks, machines and events, in one SQLite file.

Each moment is committed as it comes: whoever is killed loses at most the last one, and never the file.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from rigright.base.bounded import bounded_json
from rigright.base.units import MIB
from rigright.machine.bench.record import Result
from rigright.machine.history.blocks import Column, columns_of
from rigright.machine.history.columns import AT, MS, PEAK, Rows, at_ms, si, step_of, tick_of
from rigright.machine.history.file import PATIENCE_S, damaged, default_path, opened, store_errors, whole
from rigright.machine.history.grains import BLOCK_ROWS, GRAINS, MOST_BYTES, put_text, tidy
from rigright.machine.possible import possible
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.machine.system import Event
from rigright.machine.tick import Tick

MOST_MACHINES, MOST_EVENTS, MOST_RESULTS = 30, 100_000, 100_000  # kept: of one machine, of all
_MOST_TOLD = 32 * MIB  # of one stored machine
_FOR_EVER = 2**62

_BLOCKS = "SELECT n FROM block WHERE grain_s = ? AND until_ms >= ? AND from_ms <= ? ORDER BY n"
_WAITING = "SELECT row FROM tick WHERE grain_s = ? AND at_ms BETWEEN ? AND ? ORDER BY n"

Columns = dict[str, list[float | str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMachine:
    """A machine as it was at one time."""

    key: str
    at_s: float
    machine: Machine


def machine_key(machine: Machine) -> str:
    """What stays of a machine when a card is lost or swapped: its name, board and processors."""
    system, cpu = machine.system, machine.cpu
    parts = (system.host, system.maker, system.product, system.board, cpu.name, cpu.arch or system.arch)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def open_history(
    path: Path | None = None,
    *,
    writes: bool = True,
    most_bytes: int = MOST_BYTES,
    patience_s: float = PATIENCE_S,
) -> History:
    """The history of this machine, or the one of a file; made where there is none and it may be written.

    For so long it waits for another program that writes: who measured for minutes has more patience.
    """
    where = default_path() if path is None else path
    return History(where, opened(where, writes=writes, patience_s=patience_s), most_bytes=most_bytes)


class History:
    """One open history; a context manager. For one thread; other processes may write too."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, most_bytes: int = MOST_BYTES) -> None:
        self.path = path
        self._open = connection
        self._most_bytes = most_bytes
        self._rows = Rows()
        self._waiting = BLOCK_ROWS  # the first tick tidies what another process left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._open.close()

    def add_tick(self, tick: Tick) -> None:
        """Keep a moment; it is safe when this returns."""
        with store_errors(self.path):
            if self._waiting >= BLOCK_ROWS:  # before it is kept: who is told of a failure may add it again
                self._waiting = 0
                tidy(self._open, most_bytes=self._most_bytes)
            put_text(self._open, at_ms(tick), row=self._rows.text(tick))
            self._waiting += 1

    def add_machine(self, machine: Machine) -> str:
        """Keep the machine as it is now; its key comes back."""
        key = machine_key(machine)
        at_s = machine.system.now_s or time.time()
        packed = zlib.compress(json.dumps(plain(machine)).encode())
        with store_errors(self.path), whole(self._open):
            self._open.execute("INSERT INTO machine (key, at_s, told) VALUES (?, ?, ?)", (key, at_s, packed))
            self._keep_newest("machine", MOST_MACHINES, key=key)
        return key

    def add_results(self, results: Iterable[Result], machine: Machine) -> None:
        """Keep what a benchmark measured."""
        key, now = machine_key(machine), time.time()
        timed = [result if result.at_s is not None else replace(result, at_s=now) for result in results]
        rows = [
            (result.at_s, key, result.part, result.what, result.on, json.dumps(plain(result)))
            for result in timed
        ]
        with store_errors(self.path), whole(self._open):
            self._open.executemany(
                "INSERT INTO result (at_s, machine, part, what, place, told) VALUES (?, ?, ?, ?, ?, ?)", rows
            )
            self._keep_newest("result", MOST_RESULTS)

    def add_events(self, events: Iterable[Event]) -> int:
        """Keep what happened, each once however often it is read; how many were new."""
        rows = [(event.at_s or time.time(), _mark(event), json.dumps(plain(event))) for event in events]
        if not rows:
            return 0
        with store_errors(self.path), whole(self._open):
            before = self._open.total_changes
            self._open.executemany("INSERT OR IGNORE INTO event (at_s, mark, told) VALUES (?, ?, ?)", rows)
            new = self._open.total_changes - before
            self._keep_newest("event", MOST_EVENTS)
        return new

    def ticks(
        self, since_s: float | None = None, until_s: float | None = None, *, peaks: bool = False
    ) -> Iterator[Tick]:
        """Moments as they were recorded; of long ago means, or peaks, of minutes and quarters of hours."""
        for columns in self._stretches(since_s, until_s):
            for row in _rows(columns):
                if _within(si(int(row[AT]), MS), since_s, until_s=until_s):
                    with suppress(ValueError, TypeError):  # a damaged moment is a gap
                        yield tick_of(row, peaks=peaks)

    def columns(
        self,
        since_s: float | None = None,
        until_s: float | None = None,
        *,
        wanted: Callable[[str], bool] | None = None,
    ) -> Iterator[Columns]:
        """The same a stretch at a time, as columns in SI units: "at", "host.cpu_share", "gpu0.power_w".

        A name with ">" behind it bears the peaks of thinned stretches. Much faster than `ticks`.
        """
        for columns in self._stretches(since_s, until_s, wanted=wanted):
            inside = [_within(si(int(at or 0), MS), since_s, until_s=until_s) for at in columns[AT]]
            if any(inside):
                yield {name: _shown(name, column, inside=inside) for name, column in columns.items()}

    def _stretches(
        self,
        since_s: float | None,
        until_s: float | None,
        *,
        wanted: Callable[[str], bool] | None = None,
    ) -> Iterator[dict[str, Column]]:
        """Blocks that reach into the time asked for, then what waits to be packed."""
        since = -_FOR_EVER if since_s is None else round(since_s / MS)
        until = _FOR_EVER if until_s is None else round(until_s / MS)

        def take(name: str) -> bool:
            return wanted is None or name == AT or wanted(name)

        with store_errors(self.path):
            for grain in reversed(GRAINS):
                places = self._open.execute(_BLOCKS, (grain.step_s, since, until)).fetchall()
                waiting = self._open.execute(_WAITING, (grain.step_s, since, until)).fetchall()
                for (n,) in places:
                    value = self._open.execute("SELECT packed FROM block WHERE n = ?", (n,)).fetchone()
                    columns = {} if value is None else columns_of(value[0], take)
                    if AT in columns:  # else thinned meanwhile by another process
                        yield columns
                for start in range(0, len(waiting), BLOCK_ROWS):
                    told_rows = (_row(row) for (row,) in waiting[start : start + BLOCK_ROWS])
                    rows = [row for row in told_rows if row is not None]
                    if not rows:
                        continue
                    names = dict.fromkeys(name for row in rows for name in row if take(name))
                    yield {name: [row.get(name) for row in rows] for name in names}

    def results(self, since_s: float | None = None, *, machine: Machine | None = None) -> tuple[Result, ...]:
        """What was measured, in the order it was kept, for clocks jump; of one machine where it is named."""
        key = None if machine is None else machine_key(machine)
        with store_errors(self.path):
            values = self._open.execute(
                "SELECT told FROM result WHERE at_s >= ? AND (? IS NULL OR machine = ?) ORDER BY n",
                (since_s or 0.0, key, key),
            ).fetchall()
        return tuple(self._restored(Result, value) for (value,) in values)

    def last_results(self, machine: Machine) -> tuple[Result, ...]:
        """The newest figure of each thing that was measured on this machine."""
        newest = {(result.part, result.what, result.on): result for result in self.results(machine=machine)}
        return tuple(newest.values())

    def machines(self, since_s: float | None = None, until_s: float | None = None) -> tuple[SeenMachine, ...]:
        """Machines as they were, oldest first."""
        with store_errors(self.path):
            values = self._open.execute(
                "SELECT key, at_s, told FROM machine WHERE at_s >= ? AND at_s <= ? ORDER BY at_s, n",
                (since_s or 0.0, _FOR_EVER if until_s is None else until_s),
            ).fetchall()
        return tuple(
            SeenMachine(key=key, at_s=at_s, machine=possible(self._restored(Machine, _unzipped(value))))
            for key, at_s, value in values
        )

    def events(self, since_s: float | None = None, until_s: float | None = None) -> tuple[Event, ...]:
        """What happened, oldest first."""
        with store_errors(self.path):
            values = self._open.execute(
                "SELECT told FROM event WHERE at_s >= ? AND at_s <= ? ORDER BY at_s, n",
                (since_s or 0.0, _FOR_EVER if until_s is None else until_s),
            ).fetchall()
        return tuple(self._restored(Event, value) for (value,) in values)

    def _restored(self, kind: type[Any], text: str | bytes) -> Any:
        try:
            data = bounded_json(text)
        except ValueError:
            raise damaged(self.path) from None
        return restored(kind, data, where=str(self.path))

    def _keep_newest(self, table: str, most: int, *, key: str | None = None) -> None:
        """The newest rows of a table, or of one machine in it."""
        where, values = ("1", ()) if key is None else ("key = ?", (key,))
        self._open.execute(
            f"DELETE FROM {table} WHERE {where} AND n <= "  # noqa: S608 - both are ours
            f"(SELECT n FROM {table} WHERE {where} ORDER BY n DESC LIMIT 1 OFFSET ?)",
            (*values, *values, most),
        )


def _mark(event: Event) -> str:
    """What tells an event from others, however the clock stands when it is read again."""
    when = f"{event.up_s:.3f}" if event.up_s is not None else f"{event.at_s or 0:.0f}"
    return hashlib.sha256(f"{event.kind} {when} {event.text}".encode()).hexdigest()[:32]


def _unzipped(told_bytes: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(told_bytes, _MOST_TOLD)
    except zlib.error:
        return b""


def _row(kept: object) -> dict[str, Any] | None:
    """A moment that waits to be packed; None where it is damaged."""
    try:
        row = bounded_json(kept)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get(AT), int):
        return None
    return {name: value for name, value in row.items() if isinstance(value, int | str)}


def _rows(columns: dict[str, Column]) -> Iterator[dict[str, Any]]:
    for place in range(len(columns[AT])):
        yield {name: value for name, column in columns.items() if (value := column[place]) is not None}


def _within(at_s: float, since_s: float | None, *, until_s: float | None) -> bool:
    return (since_s is None or at_s >= since_s) and (until_s is None or at_s <= until_s)


def _shown(name: str, column: Column, *, inside: list[bool]) -> list[float | str | None]:
    """A column in SI units, without what lies outside the time asked for."""
    step = step_of(name.removesuffix(PEAK))
    return [
        si(value, step) if isinstance(value, int) else value
        for value, wanted in zip(column, inside, strict=True)
        if wanted
    ]
