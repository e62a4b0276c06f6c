"""A command and all it started, at one moment: also what left its parent, and the time of what has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from rigright.base.units import KIB
from rigright.machine.tick import DeviceTick, TreeTick
from rigright.machine.world import World

_UTIME, _CSTIME, _START, _RSS = 11, 14, 19, 21  # places in /proc/PID/stat behind the name
_PSS_REST = 50  # times as long as it took, until shared memory is told apart again
_MOST = 20_000  # processes of a tree


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    pid: int
    started: int
    is_alive: bool  # not just waiting for its parent to take note of its end
    cpu_ticks: int  # its own, and of children that have ended
    mem_bytes: float


class TreeReader:
    """Reads one tree of processes again and again."""

    def __init__(self, world: World, root: int) -> None:
        self._world, self._root = world, root
        self._known: dict[int, int] = {}  # pid -> when it started, so that a reused number is no member
        self._before: tuple[float, int] | None = None
        self._done = (0.0, 0.0)  # bytes read and written by what has ended
        self._io: dict[int, tuple[float, float]] = {}
        self._shared: tuple[float, float] | None = None  # memory that shares are told apart in, until when
        page, hertz = ("SC_PAGE_SIZE", "SC_CLK_TCK")
        self._page_bytes = os.sysconf(page) if hasattr(os, "sysconf") else 4 * KIB
        self._hertz = os.sysconf(hertz) if hasattr(os, "sysconf") else 100

    def read(self, clock_s: float, devices: Iterable[DeviceTick] = ()) -> TreeTick:
        """The tree now; what it holds of the devices as their drivers tell."""
        if not self._world.has("/proc/self/stat"):
            # the same by psutil, where there is no /proc
            try:
                import psutil

                top = psutil.Process(self._root)
                members = [top, *top.children(recursive=True)]
            except Exception:  # noqa: BLE001 - absent, or the process has ended
                return TreeTick(n_processes=0)
            mem_bytes = 0.0
            for member in members:
                with suppress(psutil.Error):
                    mem_bytes += member.memory_info().rss
            return TreeTick(n_processes=len(members), mem_bytes=mem_bytes)
        processes = {process.pid: process for process in self._members()}
        self._known = {process.pid: process.started for process in processes.values()}
        ticks = sum(process.cpu_ticks for process in processes.values())
        before, self._before = self._before, (clock_s, ticks)
        share = None
        if before is not None and clock_s > before[0]:
            share = max(ticks - before[1], 0) / self._hertz / (clock_s - before[0])
        read, written = self._bytes(processes)
        return TreeTick(
            n_processes=sum(process.is_alive for process in processes.values()),
            cpu_share=share,
            mem_bytes=self._memory(list(processes.values()), clock_s),
            gpu_mem_bytes=_of_devices(devices, set(processes)),
            read_bytes=read,
            write_bytes=written,
        )

    def _members(self) -> Iterator[_Process]:
        """The root, all below it, and those known before that still run."""
        waiting, seen = [self._root, *self._known], set[int]()
        while waiting and len(seen) < _MOST:
            pid = waiting.pop()
            if pid in seen:
                continue
            seen.add(pid)
            process = self._process(pid)
            if process is None or self._known.get(pid, process.started) != process.started:
                continue
            yield process
            for task in self._world.names(f"/proc/{pid}/task"):
                children = self._world.text(f"/proc/{pid}/task/{task}/children") or ""
                waiting += [int(child) for child in children.split()]

    def _process(self, pid: int) -> _Process | None:
        text = self._world.text(f"/proc/{pid}/stat")
        words = (text or "").rpartition(")")[2].split()
        try:
            return _Process(
                pid=pid,
                started=int(words[_START]),
                is_alive=words[0] != "Z",
                cpu_ticks=sum(map(int, words[_UTIME : _CSTIME + 1])),
                mem_bytes=float(int(words[_RSS]) * self._page_bytes),
            )
        except (ValueError, IndexError):
            return None

    def _memory(self, processes: list[_Process], clock_s: float) -> float | None:
        """Memory held; of several processes each shared page once, as often as that can be had cheaply."""
        if len(processes) < 2:
            return processes[0].mem_bytes if processes else None
        if self._shared is not None and clock_s < self._shared[1]:
            return self._shared[0]
        start = time.perf_counter()
        total = sum(self._proportional(process) for process in processes)
        self._shared = (total, clock_s + _PSS_REST * (time.perf_counter() - start))
        return total

    def _proportional(self, process: _Process) -> float:
        text = self._world.text(f"/proc/{process.pid}/smaps_rollup") or ""
        for line in text.splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1]) * KIB
        return process.mem_bytes

    def _bytes(self, match: Iterable[int]) -> tuple[float | None, float | None]:
        """Bytes read from and written to disks, of the living and the dead."""
        now = {pid: io for pid in match if (io := self._io_of(pid)) is not None}
        for pid, (read, written) in self._io.items():
            if pid not in now:
                self._done = self._done[0] + read, self._done[1] + written
        self._io = now
        if not now and self._done == (0.0, 0.0):
            return None, None
        return (
            self._done[0] + sum(read for read, _ in now.values()),
            self._done[1] + sum(written for _, written in now.values()),
        )

    def _io_of(self, pid: int) -> tuple[float, float] | None:
        fields = dict(
            line.split(": ", 1)
            for line in (self._world.text(f"/proc/{pid}/io") or "").splitlines()
            if ": " in line
        )
        try:
            return float(fields["read_bytes"]), float(fields["write_bytes"])
        except (KeyError, ValueError):
            return None


def _of_devices(devices: Iterable[DeviceTick], pids: set[int]) -> tuple[tuple[int, float], ...]:
    values: dict[int, float] = {}
    for device in devices:
        for program in device.programs or ():
            if program.pid in pids and program.mem_bytes is not None:
                values[device.index] = values.get(device.index, 0.0) + program.mem_bytes
    return tuple(sorted(values.items()))
