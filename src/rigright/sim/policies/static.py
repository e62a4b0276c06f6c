"""Static batching: a batch is let in, and nobody else before its last sequence has ended."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.sim.room import PassRoom, PassRules, WaitingPrompt, fill

MANNER = PassRules(mixes=False, keeps=1.0, drains=True)


def pick(queue: Iterable[WaitingPrompt], room: PassRoom) -> list[tuple[WaitingPrompt, int]]:
    """As many as there is room for, prompts before next tokens."""
    return fill(queue, room)
