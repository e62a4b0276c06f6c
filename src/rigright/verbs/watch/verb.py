"""The verb itself: looks at the machine at a steady pace, keeps what it sees and serves it."""

from __future__ import annotations

import platform
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Self

from rigright.base.errors import AskError, RigError
from rigright.base.patience import patience
from rigright.base.words import Sentence, say
from rigright.doctor.baseline import cards_of, compared, load
from rigright.doctor.binding.judgement import JudgedCause, conclude, watched
from rigright.doctor.examine import case_of, examine
from rigright.machine.exporter.tally import MetricsTally, WatchSettings
from rigright.machine.history.store import open_history
from rigright.machine.record import Machine
from rigright.machine.sampling.log import LogReader
from rigright.machine.sampling.ports import PortReader
from rigright.machine.sampling.programs import ProgramReader
from rigright.machine.sampling.sampler import Sampler
from rigright.machine.system import Event
from rigright.machine.tick import Tick
from rigright.machine.world import World, here
from rigright.verbs.watch.record import Detail, Keeper, MachineMoment

if TYPE_CHECKING:
    from rigright.machine.exporter.server import MetricsServer

LEAST_S, MOST_S = 0.1, 3600.0
_BETWEEN_S = 0.3  # two looks that rates are told from
_FIRST_WAIT_S, _ONLY_WAIT_S = 8.0, 20.0  # for the driver at the first look: it may have to wake every card
JUDGED_S = 30.0  # from one examination to the next
_PROBED_S = 600.0  # until the whole machine is read anew
_TICKS = 120  # moments that are judged


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchWish:
    """How to watch."""

    every_s: float = 1.0
    keep: bool = True  # in the history
    serve: str | None = None  # "9477", "0.0.0.0:9477"
    token_file: str | None = None
    dcgm_names: bool = False
    for_s: float | None = None  # and then end
    baseline: str | None = None  # a file of what nodes of this type should be like
    closely: bool = False  # programs, ports and the doctor's findings too: somebody looks at a screen


def watch(wish: WatchWish | None = None, *, world: World | None = None) -> Watch:
    """Moments of this machine, to be used as a context manager and then as an iterator."""
    return Watch(wish or WatchWish(), world=here() if world is None else world)


class Watch:
    """Moments without end, each at its time; a context manager."""

    def __init__(
        self,
        wish: WatchWish,
        *,
        world: World,
        keeper: Keeper | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        if not LEAST_S <= wish.every_s <= MOST_S:
            raise AskError(say("--every: between {least} s and {most} s", least=LEAST_S, most=round(MOST_S)))
        self.wish = wish
        self._clock = clock
        self._baseline = load(wish.baseline)
        self._differs: tuple[str, ...] = ()
        self._log = LogReader(world, clock=clock, wall=wall)
        self._keeper = (keeper or Keeper(clock=clock)) if wish.keep else None
        self.tally = MetricsTally(
            world,
            WatchSettings(
                every_s=wish.every_s,
                keeps_history=lambda: self._keeper is not None and self._keeper.is_up,
                reads_log=lambda: self._log.is_open,
                cards=0 if self._baseline is None else cards_of(self._baseline),
                differs=lambda: self._differs,
            ),
            clock=clock,
        )
        self._server = _served(wish, self.tally)
        looked_at = wish.closely or wish.serve is not None
        self._sampler = Sampler(world, clock=clock, wall=wall, activity=looked_at)
        self._machine: list[Machine] = []
        self._close = Close(world) if wish.closely else None
        self._end = Flag()
        if self._keeper is not None or self._baseline is not None or self._close is not None:
            Thread(target=self._probe, args=(world,), daemon=True, name="probe").start()
        self._began_wall_s = wall()
        self._began_s = self._due_s = clock()
        self._host = world.text("/proc/sys/kernel/hostname") or platform.node()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[MachineMoment]:
        """Every moment at its time, until the time asked for is over or somebody ends it."""
        while not self.is_over:
            yield self.look()
            self._end.wait(self.rest_s())

    @property
    def is_over(self) -> bool:
        """Whether no moment is to come."""
        for_s = self.wish.for_s
        return self._end.is_set() or (for_s is not None and self._due_s - self._began_s >= for_s)

    @property
    def serves(self) -> str | None:
        """The address of the metrics."""
        return None if self._server is None else self._server.address

    def rest_s(self) -> float:
        """Time until the next moment; moments that were missed are left out."""
        return max(self._due_s - self._clock(), 0.0)

    def look(self, first_wait_s: float | None = None) -> MachineMoment:
        """The machine now; the first look waits for the driver to start."""
        start_s = self._clock()
        before = self.tally.tick
        first_s = patience(_FIRST_WAIT_S) if first_wait_s is None else first_wait_s
        tick = self._sampler.tick(first_s) if before is None else self._sampler.tick()
        self.tally.add(tick, self._clock() - start_s)
        events = self._log.read() if self._log.is_open else from_driver(before, tick)
        new = tuple(event for event in events if event.at_s is None or event.at_s >= self._began_wall_s)
        self.tally.add_events(new)
        if self._keeper is not None:
            self._keeper.add(tick, events)
            if self._machine:
                self._keeper.add_machine(self._machine.pop())
        missed = int((self._clock() - self._due_s) / self.wish.every_s)
        self._due_s += self.wish.every_s * (1 + max(missed, 0))
        notes: list[Sentence] = []
        if (tick.on_bus or 0) > len(tick.devices):
            notes.append(say(
                "GPUs on the bus: {bus}, listed by drivers: {shown}; see `rigright doctor`",
                bus=tick.on_bus, shown=len(tick.devices),
            ))  # fmt: skip
        if self._keeper is not None and self._keeper.problem is not None:
            notes.append(say("history not recorded: {why}", why=self._keeper.problem))
        if not self._log.is_open:
            notes.append(
                say(
                    "no permission to read the kernel log: only XIDs reported by the driver are shown; "
                    "root sees all"
                )
            )
        return MachineMoment(
            tick=tick,
            events=new,
            notes=tuple(notes),
            host_name=self._host,
            every_s=self.wish.every_s,
            serves=self.serves,
            power=self.tally.power,
            detail=None if self._close is None else self._close.look(tick),
        )

    def kept(self, since_s: float, until_s: float) -> tuple[Tick, ...]:
        """Moments that the history holds of a time; none where it cannot be read."""
        with suppress(RigError), open_history(writes=False) as history:
            return tuple(history.ticks(since_s, until_s))
        return ()

    def twice(self) -> MachineMoment:
        """One moment with its rates: two looks, shortly after each other."""
        self.look(patience(_ONLY_WAIT_S))
        self._end.wait(_BETWEEN_S)
        return self.look()

    def end(self) -> None:
        """Let the iteration end; may be called from a signal or another thread."""
        self._end.set()

    def close(self) -> None:
        """End the server, the talk with the driver and the history."""
        self._end.set()
        if self._server is not None:
            self._server.close()
        self._sampler.close()
        self._log.close()
        if self._close is not None:
            self._close.close()
        if self._keeper is not None:
            self._keeper.close()

    def _probe(self, world: World) -> None:
        """Read the whole machine once, beside the watch; the history keeps it."""
        from rigright.machine.probe import probe

        machine = probe(world)
        self._machine.append(machine)
        if self._baseline is not None:
            self._differs = tuple(
                trait.trait.key for trait in compared(machine, self._baseline) if trait.differs
            )
        if self._close is not None:
            self._close.judge(machine, self._end)


def _served(wish: WatchWish, tally: MetricsTally) -> MetricsServer | None:
    if wish.serve is not None:
        from rigright.verbs.watch.serving import serve

        return serve(tally, wish.serve, token_file=wish.token_file, dcgm_names=wish.dcgm_names)
    if wish.token_file is not None or wish.dcgm_names:
        raise AskError(say("--token and --dcgm-names need --serve"))
    return None


def from_driver(before: Tick | None, now: Tick) -> tuple[Event, ...]:
    """An XID for each card whose last one is another than before; the same one again cannot be stated."""
    if before is None:
        return ()
    known = {tick.card: tick.last_xid for tick in before.devices}
    return tuple(
        Event(
            kind="xid",
            code=device.last_xid,
            pci=device.pci,
            at_s=now.at_s,
            text=f"{device.card}: the driver's last XID",
        )
        for device in now.devices
        if device.last_xid is not None and device.last_xid != known.get(device.card, device.last_xid)
    )


class Close:
    """Reads at each moment, and examines beside it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._programs, self._ports = ProgramReader(world), PortReader(world)
        self._ticks: deque[Tick] = deque(maxlen=_TICKS)
        self._machine: Machine | None = None
        self._causes: tuple[JudgedCause, ...] | None = None

    def look(self, tick: Tick) -> Detail:
        """What belongs to a moment."""
        self._ticks.append(tick)
        pids = (program.pid for device in tick.devices for program in device.programs or ())
        return Detail(
            uses=self._programs.read(tick.clock_s, pids),
            ports=self._ports.read(tick.clock_s),
            machine=self._machine,
            causes=self._causes,
        )

    def judge(self, machine: Machine, end: Flag) -> None:
        """Examine what was probed and watched, again and again until the end; for a thread of its own."""
        from rigright.machine.probe import probe

        age_s = 0.0
        while not end.is_set():
            if age_s >= _PROBED_S:
                machine, age_s = probe(self._world), 0.0
            case = case_of(machine)
            self._causes = conclude(examine(watched(case, tuple(self._ticks)))).causes
            self._machine = machine
            end.wait(JUDGED_S)
            age_s += JUDGED_S

    def close(self) -> None:
        """Let go of the kernel's files."""
        self._programs.close()
        self._ports.close()
