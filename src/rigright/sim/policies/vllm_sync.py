"""vLLM V1 before asynchronous scheduling: a pass is made up when the one before it has ended."""

from __future__ import annotations

from rigright.sim.room import PassRules
from rigright.sim.room import fill as pick

__all__ = ["MANNER", "pick"]

MANNER = PassRules()
