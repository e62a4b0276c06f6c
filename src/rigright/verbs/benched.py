"""The last benchmarks of a machine, where its history holds any."""

from __future__ import annotations

from rigright.base.errors import RigError
from rigright.machine.bench.record import Result
from rigright.machine.history.store import open_history
from rigright.machine.record import Machine


def results_of(machine: Machine) -> tuple[Result, ...]:
    """The newest figure of each benchmark; nothing without a history."""
    try:
        with open_history(writes=False) as history:
            return history.last_results(machine)
    except (RigError, OSError):
        return ()
