"""vLLM V1: next tokens first, then prompts in order of arrival, cut to what the token budget leaves.

Cache is set aside for the prompt alone. When none is left for next tokens, the newest sequence gives its
cache back and is worked on again later. A pass is made up while the one before it runs (asynchronous).
"""

from __future__ import annotations

from rigright.sim.room import PassRules
from rigright.sim.room import fill as pick

__all__ = ["MANNER", "pick"]

MANNER = PassRules(ahead=True)
