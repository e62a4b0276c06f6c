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
    """Bytes a second that so many lanes carry in one direction, before protocol overhead."""
    if gen not in _GENERATIONS:
        raise AskError(say("there is no PCIe generation {gen}; there are 1 to 6", gen=gen))
    transfers_per_s, payload = _GENERATIONS[gen]
    return transfers_per_s * payload * lanes / BITS
