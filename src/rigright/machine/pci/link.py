"""What a link's speed and a function's class are called."""

from __future__ import annotations

import re

from rigright.base.units import KILO

GENS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
MOST_LANES = 32
BRIDGE = "0x0604"
_KEPT = ("0x03", "0x12", "0x0108", "0x02")  # graphics, processing accelerators, NVMe, network
_SWITCHES = {("0x0680", "10de")}  # NVSwitch
_GTS = re.compile(r"(\d+(?:\.\d+)?) ?([GM])T/s")
_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?\Z", re.IGNORECASE)


def pci_key(pci: str | None) -> str:
    """An address as the driver, lspci and sysfs all mean it: without function, domain of four digits."""
    match = _PCI.match(pci or "")
    if match is None:
        return pci or ""
    domain = int(match[1] or "0", 16)
    return f"{domain:04x}:{match[2]}:{match[3]}".lower()


def gen_of(speed: str | None) -> int | None:
    """The PCIe generation of "16.0 GT/s PCIe" or "1 (16.0GT/s x16)"; "Unknown" is none."""
    match = _GTS.search(speed or "")
    if match is None:
        return None
    return GENS.get(float(match[1]) / (KILO if match[2] == "M" else 1))


def lanes_of(width: int | None) -> int | None:
    """A width that can be: nothing hangs on a link of 0 lanes, and 255 means unknown."""
    return width if width is not None and 0 < width <= MOST_LANES else None


def is_kept(pci_class: str | None, vendor: str) -> bool:
    """Whether a function is one of those a machine for learning is about."""
    known = pci_class or ""
    return known.startswith(_KEPT) or (known[:6], vendor) in _SWITCHES


def is_bridge(pci_class: str | None) -> bool:
    """Whether other functions hang below it."""
    return (pci_class or "").startswith(BRIDGE)
