"""The table of `xpu-smi discovery`, as its JSON would be."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

_MOST_LINES = 50_000
_MOST_DEVICES = 256
_ROW = re.compile(
    r"\|\s{1,20}(\d{0,3})\s{1,20}\|\s([A-Z][A-Za-z ]{1,40}): (\S[^|]{0,120}?)\s{1,120}\|\s{0,9}\Z"
)
_NAMES = {
    "Device Name": "device_name",
    "UUID": "uuid",
    "SOC UUID": "uuid",
    "Serial Number": "serial_number",
    "PCI BDF Address": "pci_bdf_address",
    "PCI Device ID": "pci_device_id",
    "Core Clock Rate": "core_clock_rate_mhz",
    "Driver Version": "driver_version",
    "PCIe Generation": "pcie_generation",
    "PCIe Max Link Width": "pcie_max_link_width",
    "Memory Physical Size": "memory_physical_size_byte",
    "Number of EUs": "number_of_eus",
}


def document_of(text: str) -> dict[str, Any]:
    """The devices it lists; empty where it is no such table."""
    found: dict[int, dict[str, Any]] = {}
    index: int | None = None
    for line in islice(text.splitlines(), _MOST_LINES):
        match = _ROW.match(line[:400])
        if match is None:
            continue
        index = int(match[1]) if match[1] else index
        name = _NAMES.get(match[2])
        if index is None or name is None or (index not in found and len(found) >= _MOST_DEVICES):
            continue
        device = found.setdefault(index, {"device_id": index})
        value = match[3].removesuffix(" MHz") if name.endswith("_mhz") else match[3]
        device.setdefault(name, value)
    placed = [one for one in found.values() if "pci_bdf_address" in one]
    return {"device_list": placed} if placed else {}
