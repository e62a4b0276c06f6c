"""A log of tegrastats."""

from __future__ import annotations

from rigright.machine.jetson_text import is_tegrastats, read_tegrastats
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether tegrastats wrote it."""
    return is_tegrastats(text)


def read(text: str) -> Read:
    """The board now."""
    return read_tegrastats(text)
