"""JSON of Apple's system_profiler."""

from __future__ import annotations

from rigright.machine.apple.answers import parsed, read_profile
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether system_profiler wrote it."""
    return text.lstrip()[:1] == "{" and parsed(text) is not None


def read(text: str) -> Read:
    """Its chip and memory."""
    return read_profile(parsed(text) or {})
