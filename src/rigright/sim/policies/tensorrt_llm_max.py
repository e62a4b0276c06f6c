"""TensorRT-LLM in-flight batching, maximum utilisation: cache for the prompt is enough to be let in.

When none is left for next tokens, the newest sequence is paused and worked on again later.
"""

from __future__ import annotations

from rigright.sim.room import PassRules
from rigright.sim.room import fill as pick

__all__ = ["MANNER", "pick"]

MANNER = PassRules(ahead=True)
