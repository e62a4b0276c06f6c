"""The host at one moment: processors, memory, disks, network and pressure, rates since the moment before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from rigright.base.units import KIB, MEGA
from rigright.machine.meminfo import size_in
from rigright.machine.sampling.flows import Flows
from rigright.machine.sampling.kept import Kept
from rigright.machine.tick import HostTick
from rigright.machine.world import World

_PAGE_BYTES = 4 * KIB  # of swap counters, which Linux counts in pages of this size on every machine we know
_IDLE, _WAIT = 4, 5  # places in a line of /proc/stat
_REAL = 8  # columns of it before those of guests, which are counted twice
_SWAPPED = re.compile(r"^pswp(?:in|out) (\d{1,18})$", re.MULTILINE)
_STALL = re.compile(r"^some .*?total=(\d{1,18})", re.MULTILINE)
Core = tuple[int, int, int]  # ticks of its clock: all, idle, waiting
_PRESSURES = (("cpu_pressure", "cpu"), ("mem_pressure", "memory"), ("io_pressure", "io"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Counters of one moment."""

    at_s: float
    cores: Mapping[str, Core]
    swapped: int | None
    stalled_us: Mapping[str, int]


class HostReader:
    """Reads the host again and again; cheap, since it does so every second."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept = Kept(world)
        self._flows = Flows(world, self._kept)
        self._before: _Counts | None = None
        self._is_linux = world.has("/proc/stat")

    def read(self, clock_s: float) -> HostTick:
        """The host now; the first reading has no rates."""
        if not self._is_linux:
            return _foreign(self._flows, clock_s) if self._world.is_live else HostTick()
        memory = self._kept.text("/proc/meminfo") or ""
        now = self._counts(clock_s, swaps=size_in(memory, "SwapTotal") != 0)
        before, self._before = self._before, now
        fields = {**_memory(memory), **self._flows.rates(clock_s)}
        if before is not None and now.at_s > before.at_s:
            passed_s = now.at_s - before.at_s
            fields |= _shares(before.cores, now.cores)
            # the share of time in which some work waited for a thing
            fields |= {
                name: min(max(now.stalled_us[name] - before.stalled_us[name], 0) / MEGA / passed_s, 1.0)
                for name in now.stalled_us
                if name in before.stalled_us
            }
            if before.swapped is not None and now.swapped is not None and now.swapped >= before.swapped:
                fields["swap_bytes_per_s"] = (now.swapped - before.swapped) * _PAGE_BYTES / passed_s
        return HostTick(**fields)

    def close(self) -> None:
        """Let go of the kernel's files."""
        self._kept.close()

    def _counts(self, clock_s: float, *, swaps: bool) -> _Counts:
        stalls = {}
        for name, file in _PRESSURES:
            match = _STALL.search(self._kept.text(f"/proc/pressure/{file}") or "")
            if match:
                stalls[name] = int(match[1])
        # clock ticks of all cores ("cpu") and of each: all, idle, and waiting for a disk
        text = self._kept.text("/proc/stat") or ""
        fields = {}
        for line in text.split("\n"):
            if not line.startswith("cpu"):
                break
            words = line.split(None, _REAL + 1)
            with suppress(ValueError, IndexError):
                fields[words[0]] = sum(map(int, words[1 : _REAL + 1])), int(words[_IDLE]), int(words[_WAIT])
        return _Counts(
            at_s=clock_s,
            cores=fields,
            swapped=_swapped(self._kept.text("/proc/vmstat") or "") if swaps else 0,
            stalled_us=stalls,
        )


def _swapped(text: str) -> int | None:
    pages = _SWAPPED.findall(text)
    return sum(map(int, pages)) if pages else None


def _shares(before: Mapping[str, Core], now: Mapping[str, Core]) -> dict[str, float]:
    """How busy all cores and the busiest were; a core that came or went is left out."""
    fields = {}
    busy = {name: _busy(before[name], core) for name, core in now.items() if name in before}
    if (whole := busy.pop("cpu", None)) is not None:
        fields["cpu_share"], fields["wait_share"] = whole
    ones = [pair[0] for pair in busy.values() if pair is not None]
    if ones:
        fields["busiest_core_share"] = max(ones)
    return fields


def _busy(before: Core, now: Core) -> tuple[float, float] | None:
    """Shares of the time between: at work, and waiting for a disk. Idle and waiting may count backwards."""
    total = now[0] - before[0]
    if total <= 0:
        return None
    idle, wait = max(now[1] - before[1], 0), max(now[2] - before[2], 0)
    return max(total - idle - wait, 0) / total, min(wait / total, 1.0)


def _memory(text: str) -> dict[str, float]:
    total, free = size_in(text, "MemTotal"), size_in(text, "MemAvailable")
    swap, swap_free = size_in(text, "SwapTotal"), size_in(text, "SwapFree")
    fields = {} if total is None else {"mem_total_bytes": total}
    if total is not None and free is not None:
        fields["mem_used_bytes"] = max(total - free, 0.0)
    if swap is not None and swap_free is not None:
        fields["swap_used_bytes"] = max(swap - swap_free, 0.0)
    return fields


def _foreign(flows: Flows, clock_s: float) -> HostTick:
    """The same where there is no /proc, as far as psutil sees it."""
    try:
        import psutil
    except ImportError:
        return HostTick()
    cores = psutil.cpu_percent(percpu=True)
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    tick = HostTick(
        cpu_share=sum(cores) / len(cores) / 100 if cores else None,
        busiest_core_share=max(cores) / 100 if cores else None,
        mem_total_bytes=float(memory.total),
        mem_used_bytes=float(memory.total - memory.available),
        swap_used_bytes=float(swap.used),
    )
    return replace(tick, **flows.foreign_rates(clock_s))
