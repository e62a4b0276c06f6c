"""TensorRT-LLM in-flight batching, guaranteed no evict: who is let in has cache for all its tokens to come.

Prompts are whole unless chunking was asked for, and share passes with next tokens.
"""

from __future__ import annotations

from rigright.sim.room import PassRules
from rigright.sim.room import fill as pick

__all__ = ["MANNER", "pick"]

MANNER = PassRules(ahead=True, keeps=1.0)
