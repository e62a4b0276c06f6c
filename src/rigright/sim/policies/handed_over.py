"""Workers that only make next tokens: prompts come to them worked on, with their caches, over a wire.

Who is let in has cache for all its tokens to come: a cache that was given back would have to be sent again.
"""

from __future__ import annotations

from collections.abc import Iterable

from rigright.sim.room import PassRoom, PassRules, WaitingPrompt

MANNER = PassRules(ahead=True, keeps=1.0, computes=False)


def pick(queue: Iterable[WaitingPrompt], room: PassRoom) -> list[tuple[WaitingPrompt, int]]:
    """In order of arrival while there are seats and cache; nothing is worked on."""
    taken = []
    for ask in queue:
        if not room.admit(ask):
            break
        taken.append((ask, 0))
    return taken
