"""The prefix cache of a replica that is played: what requests left, kept until others need the room.

What is free of the GPUs' cache holds it, the longest unused goes first; tiers beside them keep copies.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from math import inf

Piece = tuple[int, int]  # what it is of, and its tokens: a context by its session, or a block by its hash


class Shelf:
    """One tier, the least recently used first; a piece may lose its tail (`cuts`), a block not."""

    __slots__ = ("cuts", "pieces", "room_tok", "tok_per_s", "tokens")

    def __init__(self, room_tok: float = inf, tok_per_s: float = inf, *, cuts: bool) -> None:
        self.room_tok, self.tok_per_s, self.cuts = room_tok, tok_per_s, cuts
        self.tokens = 0
        self.pieces: OrderedDict[int, int] = OrderedDict()

    def put(self, pieces: Iterable[Piece]) -> None:
        """The newest, the end of a context before its beginning, which others may share."""
        for key, tok in pieces:
            self.tokens += tok - self.pieces.pop(key, 0)
            self.pieces[key] = tok
        self.shrink(self.room_tok)

    def shrink(self, room_tok: float) -> None:
        """Drop what has no room any more."""
        while self.tokens > room_tok:
            key, tok = next(iter(self.pieces.items()))
            over = self.tokens - int(max(room_tok, 0))
            if self.cuts and over < tok:
                self.pieces[key] = tok - over
                self.tokens -= over
                return
            del self.pieces[key]
            self.tokens -= tok


class PrefixStore:
    """The tiers of one replica; `busy` is what requests at work hold."""

    __slots__ = ("busy", "shelves")

    def __init__(self, beside: Sequence[tuple[float, float]], *, cuts: bool) -> None:
        self.shelves = [Shelf(cuts=cuts)]
        self.shelves += [Shelf(tok, rate, cuts=cuts) for tok, rate in beside if tok > 0]
        self.busy: Counter[int] = Counter()

    def find(self, pieces: Sequence[Piece], *, free_tok: float) -> tuple[int, float]:
        """Tokens of the beginning that are there, and how long those of other tiers take to load."""
        self.shelves[0].shrink(free_tok)
        found, load_s = self._in_reach(pieces, self.shelves[0]), 0.0
        for shelf in self.shelves[1:]:
            more = self._in_reach(pieces, shelf)
            if more > found:
                load_s += (more - found) / shelf.tok_per_s
                found = more
        return found, load_s

    def _in_reach(self, pieces: Sequence[Piece], shelf: Shelf) -> int:
        total = 0
        for key, tok in pieces:
            there = tok if self.busy[key] else min(shelf.pieces.get(key, 0), tok)
            total += there
            if there < tok:
                break
        return total

    def start(self, pieces: Sequence[Piece]) -> None:
        """A request works on them: what was free is its own again."""
        gpu = self.shelves[0]
        for key, _ in pieces:
            gpu.tokens -= gpu.pieces.pop(key, 0)
            self.busy[key] += 1

    def end(self, pieces: Sequence[Piece], *, left: Sequence[Piece], free_tok: float) -> None:
        """It is done, and leaves its context."""
        for key, _ in pieces:
            self.busy[key] -= 1
        for shelf in self.shelves:
            shelf.put(reversed(left))
        self.shelves[0].shrink(free_tok)
