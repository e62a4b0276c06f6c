"""The host at one moment: processors, memory, disks, network and pressure, rates since the moment before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from rigright.base.units import KIB, MEGA
from rigright.machine.meminfo import meminfo
from rigright.machine.sampling.flows import Flows
from rigright.machine.tick import HostTick
from rigright.machine.world import World

_PAGE_BYTES = 4 * KIB  # of swap counters, which Linux counts in pages of this size on every machine we know
_IDLE, _WAIT = 3, 4  # places in a line of /proc/stat
_REAL = 8  # columns of it before those of guests, which are counted twice
_STALL = re.compile(r"^some .*?total=(\d+)", re.MULTILINE)
_PRESSURES = (("cpu_pressure", "cpu"), ("mem_pressure", "memory"), ("io_pressure", "io"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Counters of one moment."""

    at_s: float
    cores: Mapping[str, tuple[int, ...]]
    swapped: int | None
    stalled_us: Mapping[str, int]


class HostReader:
    """Reads the host again and again; cheap, since it does so every second."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._flows = Flows(world)
        self._before: _Counts | None = None
        self._is_linux = world.has("/proc/stat")

    def read(self, clock_s: float) -> HostTick:
        """The host now; the first reading has no rates."""
        if not self._is_linux:
            return _foreign(self._flows, clock_s) if self._world.is_live else HostTick()
        now = self._counts(clock_s)
        before, self._before = self._before, now
        found = replace(_memory(self._world), **self._flows.rates(clock_s))
        if before is None or now.at_s <= before.at_s:
            return found
        passed_s = now.at_s - before.at_s
        return replace(
            found,
            **_shares(before.cores, now.cores),
            **_stalls(before.stalled_us, now.stalled_us, passed_s=passed_s),
            swap_bytes_per_s=_rate(before.swapped, now.swapped, passed_s=passed_s, scale=_PAGE_BYTES),
        )

    def _counts(self, clock_s: float) -> _Counts:
        stalls = {}
        for name, file in _PRESSURES:
            match = _STALL.search(self._world.text(f"/proc/pressure/{file}") or "")
            if match:
                stalls[name] = int(match[1])
        return _Counts(
            at_s=clock_s,
            cores=_cores(self._world.text("/proc/stat") or ""),
            swapped=_swapped(self._world.text("/proc/vmstat") or ""),
            stalled_us=stalls,
        )


def _cores(text: str) -> dict[str, tuple[int, ...]]:
    """Clock ticks by state: of all cores ("cpu") and of each."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("cpu"):
            break
        name, *counts = line.split()
        with suppress(ValueError):
            found[name] = tuple(map(int, counts[:_REAL]))
    return found


def _swapped(text: str) -> int | None:
    pages = re.findall(r"^pswp(?:in|out) (\d+)$", text, re.MULTILINE)
    return sum(map(int, pages)) if pages else None


def _shares(before: Mapping[str, tuple[int, ...]], now: Mapping[str, tuple[int, ...]]) -> dict[str, float]:
    """How busy all cores and the busiest were; a core that came or went is left out."""
    found = {}
    busy = {name: _busy(before[name], now[name]) for name in now if name in before}
    if (whole := busy.pop("cpu", None)) is not None:
        found["cpu_share"], found["wait_share"] = whole
    ones = [one[0] for one in busy.values() if one is not None]
    if ones:
        found["busiest_core_share"] = max(ones)
    return found


def _busy(before: tuple[int, ...], now: tuple[int, ...]) -> tuple[float, float] | None:
    """Shares of the time between: at work, and waiting for a disk."""
    if len(now) <= _WAIT or len(now) != len(before):
        return None
    steps = [max(after - then, 0) for then, after in zip(before, now, strict=True)]
    total = sum(steps)
    if total <= 0:
        return None
    return (total - steps[_IDLE] - steps[_WAIT]) / total, steps[_WAIT] / total


def _stalls(before: Mapping[str, int], now: Mapping[str, int], *, passed_s: float) -> dict[str, float]:
    """The share of time in which some work waited for a thing."""
    return {
        name: min(max(now[name] - before[name], 0) / MEGA / passed_s, 1.0) for name in now if name in before
    }


def _rate(before: int | None, now: int | None, *, passed_s: float, scale: float = 1.0) -> float | None:
    if before is None or now is None or now < before:
        return None
    return (now - before) * scale / passed_s


def _memory(world: World) -> HostTick:
    sizes = meminfo(world)
    total, free = sizes.get("MemTotal"), sizes.get("MemAvailable")
    swap, swap_free = sizes.get("SwapTotal"), sizes.get("SwapFree")
    return HostTick(
        mem_total_bytes=total,
        mem_used_bytes=None if total is None or free is None else max(total - free, 0.0),
        swap_used_bytes=None if swap is None or swap_free is None else max(swap - swap_free, 0.0),
    )


def _foreign(flows: Flows, clock_s: float) -> HostTick:
    """The same where there is no /proc, as far as psutil sees it."""
    try:
        import psutil
    except ImportError:
        return HostTick()
    cores = psutil.cpu_percent(percpu=True)
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    found = HostTick(
        cpu_share=sum(cores) / len(cores) / 100 if cores else None,
        busiest_core_share=max(cores) / 100 if cores else None,
        mem_total_bytes=float(memory.total),
        mem_used_bytes=float(memory.total - memory.available),
        swap_used_bytes=float(swap.used),
    )
    return replace(found, **flows.foreign_rates(clock_s))
