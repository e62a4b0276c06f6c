"""JSON of xpu-smi discovery."""

from __future__ import annotations

from rigright.machine.intel.answers import listed, parsed, read_list
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether it lists Intel's devices."""
    return text.lstrip()[:1] == "{" and bool(listed(parsed(text)))


def read(text: str) -> Read:
    """Its devices."""
    return read_list(parsed(text))
