"""What checks of software share: a machine's driver, chips, frameworks, settings, variables."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advised_step
from rigright.doctor.record import CheckInput, NotSeen, Step
from rigright.facts.chips import chips
from rigright.facts.software import Capability, Version, version_of
from rigright.machine.host import PciDevice
from rigright.machine.nvml.codes import MISMATCH, NO_LIBRARY, NOT_LOADED, why
from rigright.machine.system import Framework, Module, Package, Python, Software

NVIDIA = "10de:"
_DISPLAYS = ("0x0300", "0x0302", "0x0380")  # classes of PCI: VGA, 3D, other displays
_INSTALLED = {"installed", "held", None}
_NUMBERS = re.compile(r"\d{1,6}(?:\.\d{1,6}){0,3}")
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_GFX_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})")
SHOW = "cat /proc/cmdline"
_BOOT_TOOLS = dict.fromkeys(("ubuntu", "debian", "linuxmint", "pop"), "grub") | dict.fromkeys(
    ("fedora", "rhel", "rocky", "almalinux", "centos", "ol", "amzn"), "grubby"
)
_TABLES_DAY = "2026-11-22"  # of a machine that does not tell its clock


def cards_on_bus(case: CheckInput) -> list[PciDevice]:
    """NVIDIA's cards that the bus shows, whatever the driver does."""
    return [
        device
        for device in case.machine.pci or ()
        if device.id.startswith(NVIDIA) and (device.pci_class or "").startswith(_DISPLAYS)
    ]


def has_nvidia(case: CheckInput) -> bool:
    """Whether NVIDIA's software concerns the machine."""
    software = case.machine.software
    return bool(
        any(device.vendor == "nvidia" for device in case.machine.devices)
        or cards_on_bus(case)
        or software.kernel_driver
        or (software.driver and not case.machine.devices)  # of AMD's cards it is AMD's
    )


def driver(case: CheckInput) -> str | None:
    """The driver that programs speak to: the library's word, or its file's, else the module's."""
    software = case.machine.software
    on_disk = software.library_drivers if refuses_mismatch(software) else ()
    return software.driver or (on_disk[0] if len(on_disk) == 1 else software.kernel_driver)


def numbers(text: str | None) -> Version | None:
    """The version in a word such as 2:550.54.15-1ubuntu1."""
    match = _NUMBERS.search((text or "").rpartition(":")[2])
    return version_of(match[0]) if match else None


def capabilities(case: CheckInput) -> dict[Capability, str]:
    """Compute capabilities of the machine's NVIDIA cards -> what such a card is called."""
    names: dict[Capability, str] = {}
    for device, chip in case.pairs:
        pair = chip.compute_capability if chip is not None else None
        own = numbers(device.isa) if device.vendor == "nvidia" else None
        capability = (own[0], own[1]) if own and len(own) > 1 else pair
        if device.vendor == "nvidia" and capability is not None:
            names.setdefault(capability, device.name or (chip.name if chip else str(capability)))
    return names


def capabilities_on_bus(case: CheckInput) -> dict[Capability, str]:
    """The same of chips that only the bus shows, by their PCI ids: without a module the driver shows none."""
    shown = {card.id for card in cards_on_bus(case)}
    return {
        chip.compute_capability: chip.name
        for chip in chips()
        if chip.compute_capability is not None and shown & set(chip.pci_ids)
    }


def installed(case: CheckInput, pattern: str) -> list[Package]:
    """Installed packages of the system whose names fit."""
    fits = re.compile(pattern)
    packages = case.machine.software.packages
    return [package for package in packages if fits.fullmatch(package.name) and package.state in _INSTALLED]


def module(case: CheckInput, name: str) -> Module | None:
    """A loaded kernel module."""
    return next((item for item in case.machine.system.modules or () if item.name == name), None)


def frameworks(case: CheckInput, name: str) -> Iterator[tuple[Python, Framework]]:
    """A framework in each Python that has it."""
    for python in case.machine.software.pythons:
        for framework in python.frameworks:
            if framework.name == name:
                yield python, framework


def setting(case: CheckInput, name: str) -> str | None:
    """A sysctl."""
    return dict(case.machine.system.settings).get(name)


def refuses_mismatch(software: Software) -> bool:
    """Whether the driver itself says that its library and its module differ."""
    text = (software.driver_error or "").lower()
    return text == str(why(MISMATCH)).lower() or ("mismatch" in text and "version" in text)


def has_no_driver(software: Software) -> bool:
    """Whether the driver's own word is that it is not there, or not loaded."""
    return software.driver_error in {str(why(NOT_LOADED)), str(why(NO_LIBRARY))}


def variable(case: CheckInput, name: str) -> str | None:
    """An environment variable."""
    return dict(case.machine.environment).get(name)


def service(case: CheckInput, *names: str) -> str | None:
    """The state of the first of these services that is installed."""
    fields = dict(case.machine.system.services)
    return next((fields[name] for name in names if name in fields), None)


def today(case: CheckInput) -> str:
    """The machine's day, as branches' ends are written."""
    now_s = case.machine.system.now_s
    try:
        return _TABLES_DAY if now_s is None else time.strftime("%Y-%m-%d", time.gmtime(now_s))
    except (ValueError, OverflowError, OSError):
        return _TABLES_DAY


def is_contained(case: CheckInput) -> bool:
    """Whether we look from inside a container."""
    return case.machine.system.is_contained


def program(python: Python) -> str:
    """A Python as a shell takes it: its folder may hold spaces, and worse."""
    return shlex.quote(python.path)


def pip(python: Python, words: str) -> str:
    """A pip command for one Python."""
    return f"{program(python)} -m pip {words}"


def sysctl_unseen(name: str) -> NotSeen:
    """A sysctl that could not be read."""
    return NotSeen(why=say("{name} not readable", name=name), see=f"sysctl {name}")


def override_of(case: CheckInput) -> str | None:
    """The instruction set that the variable claims for every card; None where it claims none."""
    match = _GFX_VERSION.fullmatch((variable(case, OVERRIDE) or "").strip())
    if match is None:
        return None
    major, minor, stepping = (int(part) for part in match.groups())
    return f"gfx{major}{minor:x}{stepping:x}"


def generation(isa: str) -> str:
    """What all of a generation share: gfx1103 -> "11", gfx90a -> "9"."""
    return isa.removeprefix("gfx")[:-2]


def with_option(case: CheckInput, option: str) -> Step:
    """Start the kernel with an option from the next boot on."""
    way = _BOOT_TOOLS.get(case.machine.system.os_id or "")
    return advised_step("option_by_grub" if way == "grub" else "option", option=option, vendor=way)


def without_option(case: CheckInput, option: str) -> Step:
    """Start the kernel without an option from the next boot on."""
    way = _BOOT_TOOLS.get(case.machine.system.os_id or "")
    return advised_step("no_option_by_grub" if way == "grub" else "no_option", option=option, vendor=way)
