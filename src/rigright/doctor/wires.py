"""What checks of the bus share: functions by address, and each link with both its ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from rigright.doctor.gpus import answering
from rigright.doctor.record import CheckInput
from rigright.facts.chips import Chip, chips
from rigright.machine.device import Device
from rigright.machine.host import PciDevice
from rigright.machine.record import Machine

_ACCELERATORS = ("10de", "1da3")  # makers all of whose graphics and processing functions compute
_NO_SLOT = ("gh200", "gb200", "gb300", "gb10", "dgx-spark", "jetson", "thor", "orin", "apple")
HANDED_ON = {"vfio-pci", "pci-stub", "xen-pciback"}
_COMPUTES = {"0x0302", "0x1200"}  # classes: 3D controller, processing accelerator
_DISPLAYS = {"0x0300", "0x0380"}
_MAKERS = {"10de", "1002"}  # NVIDIA, AMD
_GRAPHICS = ("0x0300", "0x0302", "0x0380", "0x12")


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieWire:
    """A link: the function at its lower end, and the bridge above."""

    below: PciDevice
    above: PciDevice | None

    @property
    def lanes_most(self) -> int | None:
        """The lanes both ends have; None where one of them does not tell."""
        return _least(*(device.lanes_max for device in self.ends))

    @property
    def gen_most(self) -> int | None:
        """The generation both ends speak; None where one of them does not tell."""
        return _least(*(device.gen_max for device in self.ends))

    @property
    def ends(self) -> tuple[PciDevice, ...]:
        """Those that were read."""
        return (self.below,) if self.above is None else (self.below, self.above)


def is_real(case: CheckInput) -> bool:
    """Whether this is a machine of metal: the bus of a virtual one tells what its host makes up."""
    return not case.machine.system.is_virtual


def functions(case: CheckInput) -> Mapping[str, PciDevice]:
    """Everything read of the bus, by address."""
    return {device.address: device for device in case.machine.pci or ()}


def function_of(case: CheckInput, device: Device) -> PciDevice | None:
    """A device's function on the bus."""
    return functions(case).get((device.pci or "").lower())


def wires_up(case: CheckInput, device: PciDevice) -> tuple[PcieWire, ...]:
    """The links from the root down to a function; every second step lies inside a switch and is none."""
    known = functions(case)
    if not all(address in known for address in device.parents):
        return ()
    chain = [*(known[address] for address in device.parents), device]
    steps = enumerate(pairwise(chain))
    return tuple(PcieWire(below=below, above=above) for place, (above, below) in steps if place % 2 == 0)


def has_slot(device: Device, chip: Chip | None) -> bool:
    """Whether a card hangs on PCIe; one soldered to its processor reports x1, and means nothing."""
    if device.unified_memory or (chip is None and device.name is None):
        return False
    if chip is not None and (chip.unified_memory or chip.pcie_lanes is None):
        return False
    known = f"{chip.id if chip else ''} {(device.name or '').lower().replace(' ', '-')}"
    return not any(name in known for name in _NO_SLOT)


def accelerators(case: CheckInput) -> list[PciDevice]:
    """Functions that compute: by their maker, or because the facts know them."""
    known = {number for chip in chips() for number in chip.pci_ids}
    return [
        device
        for device in functions(case).values()
        if (device.pci_class or "").startswith(_GRAPHICS)
        and (device.id[:4] in _ACCELERATORS or device.id in known)
    ]


def computes(function: PciDevice) -> bool:
    """Whether it is made to compute, or a display of one who makes such."""
    kind = (function.pci_class or "")[:6]
    return kind in _COMPUTES or (kind in _DISPLAYS and function.id[:4] in _MAKERS)


def hides_cards(machine: Machine) -> bool:
    """Whether cards are on the bus, not handed on to a virtual machine, and no driver lists any."""
    here = (device for device in machine.pci or () if computes(device) and device.driver not in HANDED_ON)
    return not machine.devices and any(here)


def bus_cards(machine: Machine) -> str:
    """The accelerators that the bus shows, whatever drivers say, by the names of the facts."""
    names: dict[str, list[str]] = {}
    for chip in chips():
        for number in chip.pci_ids:
            names.setdefault(number, []).append(chip.name)
    devices = [device for device in machine.pci or () if computes(device)]
    return counted(
        Counter(" / ".join(names.get(device.id, ())) or device.name or device.id for device in devices), ", "
    )


def counted(kinds: Mapping[str, int], between: str) -> str:
    """Cards in a few words: "2x RTX 4090 + 1x L4"."""
    return between.join(f"{count}x {name}" for name, count in kinds.items())


def left_out(case: CheckInput) -> list[PciDevice]:
    """Accelerators at addresses that no driver tells."""
    offered = {(device.pci or "").lower() for device in case.machine.devices if device.state != "no driver"}
    return [accelerator for accelerator in accelerators(case) if accelerator.address not in offered]


def silent_places(case: CheckInput) -> tuple[tuple[Device, PciDevice], ...]:
    """Cards that do not even tell their address, each with the place it must have.

    Drivers count cards by the bus. Where more are left out than are silent, nobody knows which is which.
    """
    silent = [device for device in case.machine.devices if device.pci is None and device.state != "no driver"]
    places = left_out(case)
    if len(places) > len(silent):
        return ()
    in_order = (
        sorted(silent, key=lambda device: device.index),
        sorted(places, key=lambda device: device.address),
    )
    return tuple(zip(*in_order, strict=False))


def slotted(case: CheckInput) -> Iterator[Device]:
    """Cards in slots of a machine of metal."""
    if is_real(case):
        yield from (device for device, chip in answering(case) if has_slot(device, chip))


def _least(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if len(known) == len(values) else None
