"""Keeps what ticks say while a command runs, and sums it up at its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from rigright.base.units import MIB
from rigright.machine.tick import DeviceTick, Tick
from rigright.verbs.measure.measured import Course
from rigright.verbs.measure.quantities import Quantity, of_devices, of_host
from rigright.verbs.measure.series import MeasuredSeries

LEAST_ADDED_BYTES = 64 * MIB  # a device whose memory grew less was not used
LEAST_BUSY = 0.05
_TRUSTED_S = 1.0  # behind the first tick: work that the cards were seen with later may be the command's
_METER_S = 2.0  # of work: cards of Ampere and later average their power over the last second
IDLE = ("idle",)


class TickLog:
    """All ticks of one command."""

    def __init__(self, before: Tick) -> None:
        """`before` is the machine as it was when the command had not started.

        Where its driver was not awake then, the first look at the cards stands for it.
        """
        self.before = before
        self._began_s = before.clock_s
        self.samples = 0
        self.host_peak_bytes = 0.0
        self.read_bytes: float | None = None
        self.written_bytes: float | None = None
        self._followed: dict[str, tuple[Quantity, MeasuredSeries]] = {}
        self._own: dict[int, float] = {}  # most the command's programs held of a device
        self._drawn: dict[int, float] = defaultdict(float)
        self._worked: dict[int, tuple[float, float]] = {}  # joules and seconds with work
        self._slowed: dict[tuple[int, str], float] = defaultdict(float)
        self._last = before

    def take(self, tick: Tick) -> None:
        """One more moment."""
        self.samples += 1
        if tick.devices and not self.before.devices:
            self.before = replace(self.before, clock_s=tick.clock_s, devices=tick.devices)
        for quantity in (*of_devices(tick.devices), *of_host()):
            # the series of a quantity; one that turns up late starts then
            self._followed.setdefault(quantity.name, (quantity, MeasuredSeries()))[1].add(quantity.read(tick))
        passed_s = max(0.0, tick.clock_s - self._last.clock_s)
        for device in tick.devices:
            joules = self._joules(device, passed_s)
            self._drawn[device.index] += joules
            if device.power_w is not None and (device.busy_share or 0.0) > LEAST_BUSY:
                before_j, before_s = self._worked.get(device.index, (0.0, 0.0))
                self._worked[device.index] = before_j + device.power_w * passed_s, before_s + passed_s
            for word in device.slowed_by or ():
                if word not in IDLE:
                    self._slowed[device.index, word] += passed_s
        if tick.tree is not None:
            self.host_peak_bytes = max(self.host_peak_bytes, tick.tree.mem_bytes or 0.0)
            self.read_bytes = _more(self.read_bytes, tick.tree.read_bytes)
            self.written_bytes = _more(self.written_bytes, tick.tree.write_bytes)
            for index, size in tick.tree.gpu_mem_bytes:
                self._own[index] = max(self._own.get(index, 0.0), size)
        self._last = tick

    def _joules(self, device: DeviceTick, passed_s: float) -> float:
        """Energy since the tick before: the card's counter, else its power over that time."""
        last = next((tick for tick in self._last.devices if tick.index == device.index), None)
        if last is not None and device.energy_j is not None and last.energy_j is not None:
            return max(0.0, device.energy_j - last.energy_j)
        return (device.power_w or 0.0) * passed_s

    def used(self) -> tuple[int, ...]:
        """Devices the command used: its programs were there, or memory or work grew with it."""
        return tuple(sorted({*self._own, *(index for index in self._indexes() if self._woke(index))}))

    def _woke(self, index: int) -> bool:
        busy = self._of(index, "busy")
        started_busy = None
        if self.before.clock_s - self._began_s < _TRUSTED_S:
            started_busy = next(
                (tick.busy_share for tick in self.before.devices if tick.index == index), None
            )
        works = busy is not None and busy.count > 0 and busy.mean - (started_busy or 0.0) > LEAST_BUSY
        return works or self.added_bytes(index) >= LEAST_ADDED_BYTES

    def added_bytes(self, index: int) -> float:
        """The most memory the command added to a device: its programs' own, else what the card gained."""
        if self._own.get(index):
            return self._own[index]
        memory = self._of(index, "memory")
        before = next((tick.mem_used_bytes for tick in self.before.devices if tick.index == index), None)
        if memory is None or not memory.count or before is None:
            return 0.0
        return max(0.0, memory.peak - before)

    def _of(self, index: int, name: str) -> MeasuredSeries | None:
        pair = self._followed.get(f"gpu {index} {name}")
        return None if pair is None else pair[1]

    def _indexes(self) -> tuple[int, ...]:
        return tuple(sorted({tick.index for tick in (*self.before.devices, *self._last.devices)}))

    def joules(self, indexes: Iterable[int]) -> tuple[tuple[int, float], ...]:
        """What each card drew in all; one that tells no power is left out."""
        return tuple((index, self._drawn[index]) for index in indexes if self._drawn.get(index))

    def working_w(self, indexes: Iterable[int]) -> tuple[tuple[int, float], ...]:
        """What each card drew on average while it had work; nothing of one that had it too briefly."""
        seen = ((index, *self._worked.get(index, (0.0, 0.0))) for index in indexes)
        return tuple((index, joules / time_s) for index, joules, time_s in seen if time_s >= _METER_S)

    def slowed(self) -> tuple[tuple[str, float], ...]:
        """How long each card was held back, and by what."""
        return tuple(
            (f"gpu {index} {word}", time_s) for (index, word), time_s in sorted(self._slowed.items())
        )

    def courses(self, indexes: Iterable[int]) -> tuple[Course, ...]:
        """Every quantity of these devices and of the host that was observed at all."""
        wanted = tuple(f"gpu {index} " for index in indexes)
        return tuple(
            self._course(quantity, series)
            for name, (quantity, series) in self._followed.items()
            if series.count and (name.startswith(wanted) or not name.startswith("gpu "))
        )

    def _course(self, quantity: Quantity, series: MeasuredSeries) -> Course:
        return Course(
            name=quantity.name,
            label=quantity.label,
            unit=quantity.unit,
            peak=series.peak,
            median=series.median,
            mean=series.mean,
            values=series.highest,
            before=quantity.read(self.before),
        )


def _more(most: float | None, seen: float | None) -> float | None:
    """A counter of processes that come and go never falls."""
    return most if seen is None else max(most or 0.0, seen)
