"""The table of xpu-smi discovery."""

from __future__ import annotations

from rigright.machine.intel.answers import listed, read_list
from rigright.machine.intel.table import document_of
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether it lists Intel's devices."""
    return "PCI BDF Address:" in text and bool(listed(document_of(text)))


def read(text: str) -> Read:
    """Its devices."""
    return read_list(document_of(text))
