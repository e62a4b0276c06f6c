"""What checks of accelerators share: which devices answer, how they are called, whether they work now."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advised_step, label, number
from rigright.doctor.record import CheckInput, NotSeen, Step
from rigright.facts.chips import Chip
from rigright.machine.device import Device
from rigright.machine.pci import pci_key
from rigright.machine.record import Machine

BUSY_SHARE = 0.5  # of the time; below it clocks and links rest, and say nothing
_BUSY_POWER_SHARE = 0.6  # of its limit, where no share of time is told (MIG)
RACK_CHIPS = 16  # more in one NVLink domain: a rack, its switches outside of the machine


def answering(case: CheckInput, *, vendor: str | None = None) -> list[tuple[Device, Chip | None]]:
    """Devices that answer, each with its chip; the others have a check of their own."""
    return [
        (device, chip)
        for device, chip in case.pairs
        if device.state == "ok" and vendor in {None, device.vendor}
    ]


def kinds(case: CheckInput) -> Iterator[list[Device]]:
    """Answering devices by what they call themselves: cards that should behave alike."""
    devices: dict[tuple[str, str | None], list[Device]] = {}
    for device, _ in answering(case):
        devices.setdefault((device.vendor, device.name), []).append(device)
    yield from devices.values()


def is_busy(device: Device) -> bool | None:
    """Whether it works now; None where nobody says."""
    if device.busy_share is not None:
        return device.busy_share >= BUSY_SHARE
    draw, limit = device.power.draw_w, device.power.limit_w
    return None if draw is None or not limit else draw >= _BUSY_POWER_SHARE * limit


def query(device: Device, *fields: str) -> str | None:
    """The line of the vendor's own tool that shows readings of one card."""
    if device.vendor == "nvidia":
        return f"nvidia-smi -i {device.index} --query-gpu={','.join(fields)} --format=csv"
    return f"amd-smi metric -g {number(device)}" if device.vendor == "amd" else None


def details(device: Device, section: str) -> str | None:
    """The line that shows a section of nvidia-smi -q of one card."""
    if device.vendor == "nvidia":
        return f"nvidia-smi -q -i {device.index} -d {section}"
    return f"amd-smi metric -g {number(device)}" if device.vendor == "amd" else None


def see_denied(machine: Machine) -> str:
    """What shows more where a driver refuses: root, and for root what the driver itself says."""
    return "nvidia-smi" if machine.system.as_root else "sudo rigright doctor"


def bad_pages_line(device: Device) -> str | None:
    """The line that shows memory which is out of use, or waits for it."""
    if device.vendor == "amd":
        return f"amd-smi bad-pages -g {number(device)}"
    return details(device, "ROW_REMAPPER")


def unread(device: Device, command: str | None) -> NotSeen:
    """A reading that the driver did not give."""
    return NotSeen(why=say("not reported by the driver"), see=command, about=label(device))


def reset_at(case: CheckInput, pci: str | None, *, vendor: str = "nvidia") -> Step:
    """A step that resets the card at an address; a card that is there no more needs a reboot.

    A log alone lists no cards: what is not listed there is not gone.
    """
    device = device_at(case, pci)
    if device is not None:
        return advised_step("reboot") if device.state == "lost" else advised_step("reset", device=device)
    listed = [item for item in case.machine.devices if item.vendor == vendor]
    if pci is not None and listed and all(item.pci for item in listed):
        return advised_step("reboot")
    return advised_step("reset", vendor=vendor, gpu=pci) if pci else advised_step("reset_all")


def device_at(case: CheckInput, pci: str | None) -> Device | None:
    """The card at an address."""
    wanted = pci_key(pci)
    return next(
        (device for device in case.machine.devices if device.pci and pci_key(device.pci) == wanted), None
    )


def listed(devices: list[Device]) -> str:
    """Several cards in a few words: "gpu 0, gpu 3"."""
    return ", ".join(label(device) for device in devices)


def odd_ones(values: dict[str, list[Device]]) -> tuple[str, list[Device]] | None:
    """Of values that differ: the one most cards have, and the cards that have another."""
    if len(values) < 2:
        return None
    usual = max(values, key=lambda value: (len(values[value]), -min(item.index for item in values[value])))
    others = (device for value, devices in values.items() if value != usual for device in devices)
    return usual, sorted(others, key=lambda item: item.index)


def by_value(devices: list[Device], values: list[object]) -> dict[str, list[Device]]:
    """Cards by a reading; those that do not tell it are left out."""
    result: dict[str, list[Device]] = {}
    for device, value in zip(devices, values, strict=True):
        if value is not None:
            result.setdefault(str(value), []).append(device)
    return result
