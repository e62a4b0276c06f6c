"""What the history holds of a machine: its last benchmarks, and how it was before."""

from __future__ import annotations

from rigright.base.errors import RigError
from rigright.machine.bench.record import Result
from rigright.machine.history.store import machine_key, open_history
from rigright.machine.opened import STANDARD_INPUT
from rigright.machine.opened.pieces import BENCHMARK
from rigright.machine.record import Machine

_LEAST_BETWEEN_S = 600.0  # two readings: less is no rate


def results_of(machine: Machine, file: str | None = None) -> tuple[Result, ...]:
    """The newest figure of each benchmark in the history; of a file, those of a benchmark's log in it."""
    try:
        if file is None:
            with open_history(writes=False) as history:
                return history.last_results(machine)
        if BENCHMARK in machine.read_as and file != STANDARD_INPUT:
            from rigright.verbs.bench.record import read_results

            return read_results(file).results
    except (RigError, OSError):
        pass
    return ()


def before_of(machine: Machine) -> Machine | None:
    """The machine as it was last read since its start, and long enough ago for a rate."""
    now_s, up_s = machine.system.now_s, machine.system.up_s
    if now_s is None:
        return None
    try:
        with open_history(writes=False) as history:
            seen = history.machines(None if up_s is None else now_s - up_s, now_s - _LEAST_BETWEEN_S)
    except (RigError, OSError):
        return None
    key = machine_key(machine)
    return next((seen_machine.machine for seen_machine in reversed(seen) if seen_machine.key == key), None)
