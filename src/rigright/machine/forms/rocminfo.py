"""What rocminfo wrote."""

from __future__ import annotations

from rigright.machine.amd.agents import is_rocminfo, read_agents
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether it lists agents of HSA."""
    return is_rocminfo(text)


def read(text: str) -> Read:
    """The cards and the processor among them."""
    return read_agents(text)
