"""What somebody who looks at the screen wants too: programs, ports, and what the doctor finds meanwhile."""

from __future__ import annotations

from collections import deque
from threading import Event as Flag

from rigright.doctor.binding.judgement import JudgedCause, conclude, watched
from rigright.doctor.examine import case_of, examine
from rigright.machine.record import Machine
from rigright.machine.sampling.ports import PortReader
from rigright.machine.sampling.programs import ProgramReader
from rigright.machine.tick import Tick
from rigright.machine.world import World
from rigright.verbs.watch.watched import Detail

JUDGED_S = 30.0  # from one examination to the next
_PROBED_S = 600.0  # until the whole machine is read anew
_TICKS = 120  # moments that are judged


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
