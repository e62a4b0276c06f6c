"""PCIe: what a slot carries in one direction."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.units import GIGA
from rigright.base.words import say

BITS = 8

# transfers a second and lane, and payload bits of the bits sent: PCI Express base specifications 1.0 to 6.0
_GENERATIONS = {
    1: (2.5 * GIGA, 8 / 10),
    2: (5 * GIGA, 8 / 10),
    3: (8 * GIGA, 128 / 130),
    4: (16 * GIGA, 128 / 130),
    5: (32 * GIGA, 128 / 130),
    6: (64 * GIGA, 236 / 256),
}


def pcie_bytes_per_s(gen: int, lanes: int) -> float:
    """Bytes a second that so many lanes carry in one direction, after encoding and before protocol."""
    _, payload = _generation(gen)
    return pcie_raw_bytes_per_s(gen, lanes) * payload


def pcie_raw_bytes_per_s(gen: int, lanes: int) -> float:
    """The same as data sheets round it: every transferred bit counted."""
    transfers_per_s, _ = _generation(gen)
    return transfers_per_s * lanes / BITS


def _generation(gen: int) -> tuple[float, float]:
    if gen not in _GENERATIONS:
        raise AskError(say("there is no PCIe generation {gen}; there are 1 to 6", gen=gen))
    return _GENERATIONS[gen]
