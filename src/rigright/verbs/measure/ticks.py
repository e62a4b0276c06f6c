"""What a command took as measured while it ran: ticks, quantity by quantity, and their record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from rigright.base.record import Pairs, derived
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.machine.tick import DeviceTick, Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One quantity over the command's time, in SI units and bytes."""

    name: str  # "gpu 0 memory", "cpu"
    label: Sentence
    unit: str  # "bytes", "share", "w", "c", "cores", "bytes_per_s"
    peak: float
    median: float
    mean: float
    values: tuple[float | None, ...]  # the highest of each stretch
    before: float | None = None  # at the first look, before the command or just behind its start


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFigure:
    """A figure of a plan, and what was measured."""

    name: str  # "memory", "power", "speed"
    label: Sentence
    unit: str
    planned: float
    low: float
    high: float
    measured: float

    @derived
    def inside(self) -> bool:
        """Whether the plan's band holds it."""
        return self.low <= self.measured <= self.high

    @property
    def ratio(self) -> float:
        """Measured over planned."""
        return self.measured / self.planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A whole command."""

    command: tuple[str, ...]
    exit_code: int
    by_signal: str | None
    at_s: float
    lasted_s: float
    samples: int
    every_s: float
    courses: tuple[Course, ...]
    gpu_peak_bytes: Pairs[int, float]  # what the command added to each device it used
    host_peak_bytes: float | None
    cpu_s: float | None
    read_bytes: float | None
    written_bytes: float | None
    energy_j: Pairs[int, float]  # of each whole card while it ran
    slowed_s: Pairs[str, float]  # "gpu 0 sw_power_cap" -> seconds
    chips: tuple[str, ...]  # names of the devices that were used
    working_w: Pairs[int, float] = ()  # what each card drew on average while it had work
    first_look_s: float | None = None  # behind the start; 0: the cards were seen before it
    steps: float | None = None
    tokens: float | None = None
    held: tuple[PlannedFigure, ...] = ()
    notes: tuple[Sentence, ...] = ()

    @property
    def total_energy_j(self) -> float | None:
        """Of all cards together."""
        return sum(joules for _, joules in self.energy_j) if self.energy_j else None


_LEAST_ADDED_BYTES = 64 * MIB  # a device whose memory grew less was not used
LEAST_BUSY = 0.05
MOST_BINS = 2048
_TRUSTED_S = 1.0  # behind the first tick: work that the cards were seen with later may be the command's
_METER_S = 2.0  # of work: cards of Ampere and later average their power over the last second
_IDLE = "idle"

_OF_HOST = (  # name, label, unit, where in a tick: of the command's processes, or of the whole machine
    ("cpu", say("cores used"), "cores", "tree.cpu_share"),
    ("memory", say("system memory"), "bytes", "tree.mem_bytes"),
    ("cpu all", say("all cores busy"), "share", "host.cpu_share"),
    ("disk read", say("disks read"), "bytes_per_s", "host.disk_read_bytes_per_s"),
    ("disk write", say("disks written"), "bytes_per_s", "host.disk_write_bytes_per_s"),
)


def _of_device(index: int) -> tuple[tuple[str, Sentence, str, str], ...]:
    """The same of one device."""
    return (
        ("memory", say("GPU {index} memory", index=index), "bytes", "mem_used_bytes"),
        ("busy", say("GPU {index} busy", index=index), "share", "busy_share"),
        ("power", say("GPU {index} power", index=index), "w", "power_w"),
        ("temperature", say("GPU {index} temperature", index=index), "c", "gpu_c"),
        ("pcie in", say("GPU {index} PCIe in", index=index), "bytes_per_s", "pcie_rx_bytes_per_s"),
        ("pcie out", say("GPU {index} PCIe out", index=index), "bytes_per_s", "pcie_tx_bytes_per_s"),
    )


class MeasuredSeries:
    """Values in bins of equal time, in a room that does not grow: when it is full two bins become one."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.peak = float("-inf")
        self.count = 0
        self._sum = 0.0
        self._stride = 1
        self._bins: list[tuple[float, float] | None] = []  # mean and peak; None: not observed
        self._open: list[float | None] = []

    def add(self, value: float | None) -> None:
        """Take one sample."""
        if value is not None:
            self.peak = max(self.peak, value)
            self.count += 1
            self._sum += value
        self._open.append(value)
        if len(self._open) >= self._stride:
            self._bins.append(_bin(self._open))
            self._open = []
            if len(self._bins) >= MOST_BINS:
                pairs = zip(self._bins[::2], self._bins[1::2], strict=True)
                self._bins = [_merged(first, second) for first, second in pairs]
                self._stride *= 2

    @property
    def mean(self) -> float:
        """Of all samples."""
        return self._sum / self.count

    @property
    def median(self) -> float:
        """Of the bins' means: of all samples while there are few."""
        means = sorted(pair[0] for pair in self._all() if pair is not None)
        return (means[len(means) // 2] + means[(len(means) - 1) // 2]) / 2

    @property
    def highest(self) -> tuple[float | None, ...]:
        """The highest value of each bin, in order of time."""
        return tuple(None if pair is None else pair[1] for pair in self._all())

    def _all(self) -> list[tuple[float, float] | None]:
        last = _bin(self._open)
        return self._bins if last is None else [*self._bins, last]


def _bin(values: list[float | None]) -> tuple[float, float] | None:
    """Mean and peak of what was observed."""
    seen = [value for value in values if value is not None]
    return (sum(seen) / len(seen), max(seen)) if seen else None


def _merged(
    first: tuple[float, float] | None, second: tuple[float, float] | None
) -> tuple[float, float] | None:
    if first is None or second is None:
        return first or second
    return (first[0] + second[0]) / 2, max(first[1], second[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quantity:
    """One quantity of one thing, from when it first turned up."""

    label: Sentence
    unit: str
    before: float | None  # in the tick before the command
    series: MeasuredSeries = field(default_factory=MeasuredSeries)


def _readings(tick: Tick) -> Iterator[tuple[str, Sentence, str, float | None]]:
    """Every quantity of a tick: its name, its label, its unit and its value."""
    for device in tick.devices:
        for name, label, unit, place in _of_device(device.index):
            yield f"gpu {device.index} {name}", label, unit, getattr(device, place)
    for name, label, unit, path in _OF_HOST:
        thing, _, place = path.partition(".")
        yield name, label, unit, getattr(getattr(tick, thing), place, None)


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
        self._quantities: dict[str, _Quantity] = {}
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
        for name, label, unit, value in _readings(tick):
            if name not in self._quantities:
                self._quantities[name] = _Quantity(label=label, unit=unit, before=self._value_before(name))
            self._quantities[name].series.add(value)
        passed_s = max(0.0, tick.clock_s - self._last.clock_s)
        for device in tick.devices:
            self._take_power(device, passed_s)
        if tick.tree is not None:
            self.host_peak_bytes = max(self.host_peak_bytes, tick.tree.mem_bytes or 0.0)
            self.read_bytes = _more(self.read_bytes, tick.tree.read_bytes)
            self.written_bytes = _more(self.written_bytes, tick.tree.write_bytes)
            for index, size in tick.tree.gpu_mem_bytes:
                self._own[index] = max(self._own.get(index, 0.0), size)
        self._last = tick

    def _value_before(self, name: str) -> float | None:
        """What a quantity was before the command."""
        return next((value for known, _, _, value in _readings(self.before) if known == name), None)

    def _take_power(self, device: DeviceTick, passed_s: float) -> None:
        """Energy since the tick before (the card's counter, else its power over that time), and brakes."""
        last = next((tick for tick in self._last.devices if tick.index == device.index), None)
        if last is not None and device.energy_j is not None and last.energy_j is not None:
            self._drawn[device.index] += max(0.0, device.energy_j - last.energy_j)
        else:
            self._drawn[device.index] += (device.power_w or 0.0) * passed_s
        if device.power_w is not None and (device.busy_share or 0.0) > LEAST_BUSY:
            before_j, before_s = self._worked.get(device.index, (0.0, 0.0))
            self._worked[device.index] = before_j + device.power_w * passed_s, before_s + passed_s
        for word in device.slowed_by or ():
            if word != _IDLE:
                self._slowed[device.index, word] += passed_s

    def used(self) -> tuple[int, ...]:
        """Devices the command used: its programs were there, or memory or work grew with it."""
        indexes = {tick.index for tick in (*self.before.devices, *self._last.devices)}
        return tuple(sorted({*self._own, *(index for index in indexes if self._woke(index))}))

    def _woke(self, index: int) -> bool:
        busy = self._quantities.get(f"gpu {index} busy")
        trusted = self.before.clock_s - self._began_s < _TRUSTED_S
        started_busy = busy.before if busy is not None and trusted else None
        works = (
            busy is not None and busy.series.count and busy.series.mean - (started_busy or 0.0) > LEAST_BUSY
        )
        return bool(works) or self.added_bytes(index) >= _LEAST_ADDED_BYTES

    def added_bytes(self, index: int) -> float:
        """The most memory the command added to a device: its programs' own, else what the card gained."""
        if self._own.get(index):
            return self._own[index]
        memory = self._quantities.get(f"gpu {index} memory")
        if memory is None or not memory.series.count or memory.before is None:
            return 0.0
        return max(0.0, memory.series.peak - memory.before)

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
            Course(
                name=name,
                label=quantity.label,
                unit=quantity.unit,
                peak=quantity.series.peak,
                median=quantity.series.median,
                mean=quantity.series.mean,
                values=quantity.series.highest,
                before=quantity.before,
            )
            for name, quantity in self._quantities.items()
            if quantity.series.count and (name.startswith(wanted) or not name.startswith("gpu "))
        )


def _more(most: float | None, seen: float | None) -> float | None:
    """A counter of processes that come and go never falls."""
    return most if seen is None else max(most or 0.0, seen)
