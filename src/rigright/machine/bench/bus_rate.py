"""From the time of a collective to the rate of the wires: the factors of NVIDIA's nccl-tests.

What each card must send and receive, over what is handed in: so the figure of eight cards can be held
against that of two, and both against the link. Source: nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say

ONCE = {"broadcast", "reduce"}
SHARED = {"all_gather", "reduce_scatter", "all_to_all"}


def bus_factor(collective: str, ranks: int) -> float:
    """Rate of the wires over bytes of the whole message a second."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if collective in SHARED:
        return (ranks - 1) / ranks
    if collective in ONCE:
        return 1.0
    raise AskError(say("unknown collective {name}", name=collective))
