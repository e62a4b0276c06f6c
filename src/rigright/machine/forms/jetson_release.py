"""What jetson_release wrote."""

from __future__ import annotations

from rigright.machine.jetson_text import is_release, read_release
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether jetson_release wrote it."""
    return is_release(text)


def read(text: str) -> Read:
    """The module and the system."""
    return read_release(text)
