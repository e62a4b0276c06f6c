"""SGLang: prompts have passes of their own and go before next tokens; long ones are cut into chunks.

Somebody is let in when the cache would last for 0.7 of what those at work will still make.
"""

from __future__ import annotations

from rigright.sim.room import PassRules
from rigright.sim.room import fill as pick

__all__ = ["MANNER", "pick"]

MANNER = PassRules(mixes=False, ahead=True, keeps=0.7)
