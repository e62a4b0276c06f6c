"""One full reading of all devices, whatever hangs or dies on the way, within its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rigright.machine.nvml.asking import SYSTEM, Asking, Found
from rigright.machine.nvml.codes import HUNG, SLOW

WHOLE_S = 6.5  # for the library's start and all devices together
_ENOUGH_S = 0.4  # of it left to begin anew
_MOST_TIMES = 2  # that a device may hang before it is left alone


@dataclass(slots=True, frozen=True)
class NvmlReading:
    """What was read, and what never came back."""

    readings: Found = field(default_factory=dict)
    hung: dict[int, dict[str, int]] = field(default_factory=dict)  # device -> reading -> HUNG, DIED or SLOW
    together: dict[str, Any] = field(default_factory=dict)  # what concerns several: pids, paths, flow

    @property
    def names(self) -> dict[int, str]:
        """The names of programs."""
        return {int(pid): str(name) for pid, name in self.together.get("pids") or ()}


def read_whole(
    asking: Asking,
    *,
    patience_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> NvmlReading:
    """Ask for everything; after each fault go on with a new child, without the call at fault."""
    whole = NvmlReading()
    until_s = clock() + asking.patience(WHOLE_S)
    last_s = until_s - asking.patience(_ENOUGH_S)
    left: list[int] | None = None
    while left != [] and clock() < last_s and asking.ready(until_s):
        left = list(range(asking.system.get("count") or 0)) if left is None else left
        skip = [(device, reading) for device, calls in whole.hung.items() for reading in calls]
        request = {"do": "full", "devices": left, "skip": skip}
        answer = asking.aloud(request, patience_s=patience_s, until_s=until_s)
        for device, readings in answer.readings.items():
            whole.readings.setdefault(device, {}).update(readings)
        left = [device for device in left if device not in answer.done]
        if answer.culprit is not None and answer.culprit[0] != SYSTEM:
            device, reading = answer.culprit
            whole.hung.setdefault(device, {})[reading] = answer.code
            # whether a device that hung is worth another try
            left = [number for number in left if number != device] + (
                [device]
                if len(whole.hung[device]) < _MOST_TIMES and "handle" not in whole.hung[device]
                else []
            )
    for device in left or ():
        whole.hung.setdefault(device, {"handle": SLOW})
    if any(HUNG in calls.values() for calls in whole.hung.values()):
        # where one call hung, those that had no time left waited for it
        for calls in whole.hung.values():
            calls.update((reading, HUNG) for reading, code in calls.items() if code == SLOW)
    if whole.readings and clock() < last_s:
        _read_together(whole, asking, patience_s=patience_s, until_s=until_s)
    return whole


def _read_together(whole: NvmlReading, asking: Asking, *, patience_s: float, until_s: float) -> None:
    """Names of programs, paths and traffic, of the devices that answer; what hangs here is left out."""
    good = [device for device in whole.readings if "handle" not in whole.hung.get(device, {})]
    good = [device for device in good if whole.readings[device].get("handle") is True]
    wanted = {"pids": _pids(whole.readings), "paths": good, "flow": good}
    while wanted and asking.ready(until_s):
        request = {"do": "full", "devices": [], **wanted}
        answer = asking.aloud(request, patience_s=patience_s, until_s=until_s)
        if answer.culprit is None:
            whole.together.update(answer.rest)
            return
        wanted.pop(answer.culprit[1], None)
        if answer.culprit[1] == "start":
            return


def _pids(fields: Found) -> list[int]:
    lists = [
        value
        for given in fields.values()
        for reading, value in given.items()
        if reading.startswith("programs.")
    ]
    return sorted({program[0] for programs in lists if isinstance(programs, list) for program in programs})
