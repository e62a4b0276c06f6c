"""What nvidia-smi wrote: XML, `-q`, CSV, its table, or a capture of many commands."""

from __future__ import annotations

from rigright.machine.nvidia_smi.capture import is_capture, read_capture
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether nvidia-smi wrote it, or some of it."""
    return is_capture(text)


def read(text: str) -> Read:
    """Its cards and driver."""
    return read_capture(text)
