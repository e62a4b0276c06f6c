"""What rocm-smi prints without `--json`: its table, or `--showallinfo`."""

from __future__ import annotations

from rigright.machine.amd.answers import read_rocm
from rigright.machine.amd.rocm_text import told_by_rocm
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether rocm-smi wrote it."""
    return bool(told_by_rocm(text))


def read(text: str) -> Read:
    """Its cards and driver."""
    return read_rocm(told_by_rocm(text))
