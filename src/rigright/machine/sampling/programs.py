"""What each program on the cards takes of the host: CPU, memory, since when it runs, its command."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from rigright.base.units import KIB
from rigright.machine.sampling.kept import Kept
from rigright.machine.world import World

_UTIME, _STIME, _START, _RSS = 11, 12, 19, 21  # places in /proc/PID/stat behind the name
_MOST = 400  # programs that are followed: each keeps a file open
_MOST_COMMAND = 4 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramUse:
    """One program of the host at one moment."""

    cpu_share: float | None = None  # 1.0 is one core
    mem_bytes: float | None = None
    run_s: float | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """A program as it was at the look before; the number may be another's by now."""

    started: int
    at_s: float
    cpu_ticks: int
    command: str | None


class ProgramReader:
    """Reads programs by their numbers again and again."""

    def __init__(self, world: World) -> None:
        self._world, self._kept = world, Kept(world)
        self._known: dict[int, _Known] = {}
        has_sysconf = hasattr(os, "sysconf")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE") if has_sysconf else 4 * KIB
        self._hertz = os.sysconf("SC_CLK_TCK") if has_sysconf else 100
        self._is_linux = world.has("/proc/uptime")

    def read(self, clock_s: float, pids: Iterable[int]) -> dict[int, ProgramUse]:
        """What is known of each; one that is gone, or hidden from us, is left out."""
        wanted = list(dict.fromkeys(pids))[:_MOST]
        if not self._is_linux:
            return _foreign(wanted) if self._world.is_live else {}
        for pid in self._known.keys() - set(wanted):
            self._kept.forget(f"/proc/{pid}/stat")
            del self._known[pid]
        words = (self._kept.text("/proc/uptime") or "").split()
        up_s = float(words[0]) if words else None
        pairs = ((pid, self._one(pid, clock_s, up_s=up_s)) for pid in wanted)
        return {pid: use for pid, use in pairs if use is not None}

    def close(self) -> None:
        """Let go of the kernel's files."""
        self._kept.close()

    def _one(self, pid: int, clock_s: float, *, up_s: float | None) -> ProgramUse | None:
        words = (self._kept.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
        try:
            started, pages = int(words[_START]), int(words[_RSS])
            ticks = int(words[_UTIME]) + int(words[_STIME])
        except (ValueError, IndexError):
            self._known.pop(pid, None)
            return None
        before = self._known.get(pid)
        share, command = None, None
        if before is not None and before.started == started:
            command = before.command
            if clock_s > before.at_s:
                share = max(ticks - before.cpu_ticks, 0) / self._hertz / (clock_s - before.at_s)
        else:
            text = self._world.text(f"/proc/{pid}/cmdline", _MOST_COMMAND) or ""
            command = text.replace("\0", " ").strip() or None
        self._known[pid] = _Known(started, clock_s, ticks, command)
        return ProgramUse(
            cpu_share=share,
            mem_bytes=float(pages * self._page_bytes),
            run_s=None if up_s is None else max(up_s - started / self._hertz, 0.0),
            command=command,
        )


def _foreign(pids: Iterable[int]) -> dict[int, ProgramUse]:
    """The same where there is no /proc, as far as psutil sees it."""
    try:
        import time

        import psutil
    except ImportError:
        return {}
    program_uses = {}
    for pid in pids:
        try:
            value = psutil.Process(pid)
            program_uses[pid] = ProgramUse(
                mem_bytes=float(value.memory_info().rss),
                run_s=max(time.time() - value.create_time(), 0.0),
                command=" ".join(value.cmdline()) or None,
            )
        except psutil.Error:
            continue
    return program_uses
