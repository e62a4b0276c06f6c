"""A full reading as records: devices, paths, what the driver says of itself, and what could not be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from rigright.base.words import Sentence
from rigright.machine.device import Device
from rigright.machine.nvml import codes
from rigright.machine.nvml.asking import Asking, NvmlTrouble
from rigright.machine.nvml.links import paths_of
from rigright.machine.nvml.raw import Raw, is_gone
from rigright.machine.nvml.readings import see_of
from rigright.machine.nvml.shaping import Owner, device_of
from rigright.machine.nvml.whole import NvmlReading
from rigright.machine.record import Read, Unseen
from rigright.machine.system import Software

_TOO_NEW = {"retired.repair", "retired.unrepairable"}  # no word where a driver is too old for it: most are
_TOLD_ANYWAY = {"mem"}  # worth a word even where the driver simply does not have it


def read_of(whole: NvmlReading, asking: Asking, *, owner: Owner) -> Read:
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


def _device(index: int, raw: Raw | None, *, whole: NvmlReading, owner: Owner) -> Device:
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
    devices: tuple[Device, ...], raws: dict[int, Raw], *, whole: NvmlReading
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
