"""One full reading of all devices within its time, whatever hangs or dies on the way, as records."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rigright.base.words import Sentence
from rigright.machine.device import Device
from rigright.machine.nvml import codes
from rigright.machine.nvml.codes import HUNG, SLOW
from rigright.machine.nvml.links import paths_of
from rigright.machine.nvml.process import SYSTEM, Asking, Found, NvmlTrouble
from rigright.machine.nvml.readings import Raw, is_gone, see_of
from rigright.machine.nvml.shaping import Owner, device_of
from rigright.machine.record import Read, Unseen
from rigright.machine.system import Software

WHOLE_S = 6.5  # for the library's start and all devices together
_ENOUGH_S = 0.4  # of it left to begin anew
_MOST_TIMES = 2  # that a device may hang before it is left alone


@dataclass(slots=True, frozen=True)
class _NvmlReading:
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
) -> _NvmlReading:
    """Ask for everything; after each fault go on with a new child, without the call at fault."""
    whole = _NvmlReading()
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


def _read_together(whole: _NvmlReading, asking: Asking, *, patience_s: float, until_s: float) -> None:
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


_TOO_NEW = {"retired.repair", "retired.unrepairable"}  # no word where a driver is too old for it: most are
_TOLD_ANYWAY = {"mem"}  # worth a word even where the driver simply does not have it


def read_of(whole: _NvmlReading, asking: Asking, *, owner: Owner) -> Read:
    """Everything of one full reading."""
    for device, ways in whole.together.get("flow") or ():
        whole.readings.get(device, {})["flow"] = ways
    raws = {index: Raw(fields) for index, fields in whole.readings.items()}
    indexes = sorted({*raws, *whole.hung})
    devices = tuple(_device(index, raws.get(index), whole=whole, owner=owner) for index in indexes)
    trouble = None if asking.trouble is None else trouble_of(asking.trouble)
    software = Software(
        driver=asking.system.get("driver"),
        driver_cuda=codes.cuda_version(asking.system.get("cuda")),
        driver_error=None if trouble is None else str(trouble),
    )
    unseen = tuple(_together(_unseen(devices, raws, whole=whole), len(devices)))
    if trouble is not None:
        code = None if asking.trouble is None else asking.trouble.code
        unseen = (Unseen(what="devices", why=trouble, see=_see("handle", code)), *unseen)
    paths = paths_of(devices, whole.together.get("paths") or ())
    cards = {"devices": devices, "paths": paths} if devices else {}
    return Read(fields={**cards, "software": software}, unseen=unseen)


def trouble_of(trouble: NvmlTrouble) -> Sentence:
    """Why the driver as a whole does not answer."""
    if trouble.missing:
        return codes.NO_BINDING
    if trouble.code == codes.HUNG:
        return codes.HANGS
    if trouble.code == codes.DIED:
        return codes.ENDED
    return codes.why(trouble.code)


def _device(index: int, raw: Raw | None, *, whole: _NvmlReading, owner: Owner) -> Device:
    """One device, in the state it showed."""
    missed = set(whole.hung.get(index, {}).values())
    state = "slow" if missed == {codes.SLOW} else "hung" if missed else None
    if raw is None or "handle" not in raw.values:
        return Device(index=index, vendor="nvidia", state=state or "hung")
    device = device_of(index, raw, owner=owner, names=whole.names)
    if state is None and is_gone(raw):
        state = "denied" if raw.failed("handle") == codes.NO_PERMISSION else "lost"
    return device if state is None else replace(device, state=state)


def _unseen(
    devices: tuple[Device, ...], raws: dict[int, Raw], *, whole: _NvmlReading
) -> Iterator[tuple[int, str, int]]:
    """(device, reading, code) of each reading that was looked for in vain."""
    for device in devices:
        hung = whole.hung.get(device.index, {})
        yield from ((device.index, reading, code) for reading, code in hung.items())
        raw = raws.get(device.index, Raw({}))
        for reading in raw.values:
            code = raw.failed(reading)
            if code is None or reading in hung or (device.state == "lost" and reading != "handle"):
                continue
            if code == codes.NO_SUCH_CALL and reading in _TOO_NEW:
                continue
            if code not in {codes.NOT_SUPPORTED, codes.NOT_FOUND, 2} or reading in _TOLD_ANYWAY:
                yield device.index, reading, code


def _together(missed: Iterator[tuple[int, str, int]], n_devices: int) -> Iterator[Unseen]:
    """One line for what all devices lack for the same reason."""
    by_kind: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, reading, code in missed:
        by_kind[reading, code].append(index)
    for (reading, code), indexes in by_kind.items():
        see = _see(reading, code)
        field = "" if reading == "handle" else f".{reading}"
        if len(indexes) == n_devices and n_devices > 1:
            yield Unseen(what=f"devices{field}", why=codes.why(code), see=see)
            continue
        for index in indexes:
            yield Unseen(what=f"devices.{index}{field}", why=codes.why(code), see=see)


def _see(reading: str, code: int | None) -> str | None:
    """The command that shows it: none where nvidia-smi asks the same driver and gets the same answer."""
    if code in {codes.NO_SUCH_CALL, codes.NOT_SUPPORTED}:
        return None
    see = see_of().get(reading, "nvidia-smi")
    return f"sudo {see}" if code == codes.NO_PERMISSION else see
