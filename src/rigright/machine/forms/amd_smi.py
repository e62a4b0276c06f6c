"""JSON of amd-smi or rocm-smi."""

from __future__ import annotations

from rigright.machine.amd.answers import cards_of, documents, is_rocm, read_answers, read_rocm
from rigright.machine.record import Read


def matches(text: str) -> bool:
    """Whether it tells of AMD's cards."""
    return any(is_rocm(one) or cards_of(one) for one in documents(text))


def read(text: str) -> Read:
    """Its cards and driver."""
    found = documents(text)
    rocm = next((one for one in found if is_rocm(one)), None)
    return read_answers(*found) if rocm is None else read_rocm(rocm)
