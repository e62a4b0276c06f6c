"""Batching policies: the ways in which they differ; who waits, what room there is, whom a pass takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rigright.base.loader import blocks


class WaitingPrompt(NamedTuple):
    """A prompt that wants to be worked on."""

    request: int
    left_tok: int  # of it, still to be worked on; 0: its cache comes from elsewhere
    hold_tok: int  # cache to set aside when it is let in; 0: it has been let in
    to_come_tok: int  # it will make so many tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a scheduler makes up its passes (see policies.toml)."""

    id: str
    mixes: bool = True  # sequences make tokens in the passes that work on prompts
    ahead: bool = False  # a pass is made up while the one before it runs
    keeps: float = 0.0  # of the tokens still to come, cache kept free when somebody is let in
    drains: bool = False  # nobody is let in before all have left
    computes: bool = True  # prompts are worked on; False: their caches come from elsewhere
    chunks: bool = True  # prompts are cut over passes where nobody says whether they are


@cache
def policies() -> dict[str, Policy]:
    """Every policy by its id."""
    return blocks("policies.toml", Policy)


class PassRoom:
    """What is free while a pass is made up; `admit` takes from it."""

    __slots__ = ("_block", "_keeps", "_slack", "blocks", "chunks", "running", "seats", "tok")

    def __init__(
        self, *, tok: int, seats: int, blocks: int, block_tok: int, running: int, chunks: bool
    ) -> None:
        self.tok = tok  # that this pass may still hold
        self.seats = seats
        self.blocks = blocks
        self.running = running  # sequences and prompts that were let in before
        self.chunks = chunks  # a prompt may be cut over passes
        self._block, self._keeps, self._slack = block_tok, 0.0, 0.0

    def promise(self, keeps: float, to_come_tok: int) -> None:
        """Keep cache free for a share of what those at work will still make, to whole blocks."""
        self._keeps = keeps
        self._slack = keeps * to_come_tok / self._block + self.running

    def admit(self, ask: WaitingPrompt) -> bool:
        """Let a prompt in if there is a seat and cache for it."""
        if ask.hold_tok == 0:
            return True
        hold = -(-ask.hold_tok // self._block)
        promised = self._keeps * ask.to_come_tok / self._block + 1 if self._keeps else 0.0
        alone = self.running == 0
        if self.seats < 1 or hold + (0.0 if alone else self._slack + promised) > self.blocks:
            return False
        self.seats -= 1
        self.blocks -= hold
        self._slack += promised
        self.running += 1
        return True


def fill(queue: Iterable[WaitingPrompt], room: PassRoom) -> list[tuple[WaitingPrompt, int]]:
    """In order of arrival as long as there is room; the last one may be cut where prompts are."""
    taken: list[tuple[WaitingPrompt, int]] = []
    for ask in queue:
        tok = min(ask.left_tok, max(room.tok, 0)) if room.chunks else ask.left_tok
        # a prompt longer than a pass goes alone; one that is not worked on takes nothing of it
        fits = not ask.left_tok or (room.tok >= 1 and (tok <= room.tok or not taken))
        if not fits or not room.admit(ask):
            break
        taken.append((ask, tok))
        room.tok -= tok
    return taken
