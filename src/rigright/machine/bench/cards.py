"""Which cards a child sees, and what they are called: as the vendor's own tool counts them."""

from __future__ import annotations

from collections.abc import Mapping

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.machine.record import Machine

CHOOSERS = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK"}


def chosen(text: str | None, machine: Machine) -> tuple[int, ...] | None:
    """Read "0,2" or "gpu 1"; None: all."""
    if text is None or text.strip().lower() in {"all", ""}:
        return None
    there = {device.index for device in machine.devices}
    numbers = []
    for word in text.lower().replace("gpu", "").split(","):
        number = word.strip()
        if not number.isdecimal():
            raise AskError(say('cannot read "{text}" as GPU numbers; for example 0,2', text=text))
        if there and int(number) not in there:
            known = ", ".join(map(str, sorted(there)))
            raise AskError(say("no GPU {number}; found {known}", number=number, known=known))
        numbers.append(int(number))
    return tuple(dict.fromkeys(numbers))


def environment(
    env: Mapping[str, str], wish: tuple[int, ...] | None, *, machine: Machine, cpus: int
) -> dict[str, str]:
    """The child's variables: cards in the order of the bus, only those wished for, all threads for NumPy."""
    fields = {**env, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        fields[name] = str(cpus)
    if wish is not None:
        vendor = next((device.vendor for device in machine.devices), "nvidia")
        fields[CHOOSERS.get(vendor, CHOOSERS["nvidia"])] = ",".join(map(str, wish))
    return fields


def names(env: Mapping[str, str], machine: Machine) -> tuple[str, ...]:
    """What each card of the child is called, in its order; what cannot be told keeps its own word."""
    for chooser in CHOOSERS.values():
        if env.get(chooser):
            return tuple(_name(word.strip(), machine) for word in env[chooser].split(",") if word.strip())
    return tuple(f"gpu {device.index}" for device in sorted(machine.devices, key=lambda item: item.index))


def _name(word: str, machine: Machine) -> str:
    if word.isdecimal():
        return f"gpu {word}"
    known = (device.index for device in machine.devices if device.uuid and device.uuid.startswith(word))
    index = next(known, None)
    return f"gpu {word}" if index is None else f"gpu {index}"
