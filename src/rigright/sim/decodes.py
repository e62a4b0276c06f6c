"""Sequences that make their next tokens, counted instead of walked: all advance by one token a beat.

A beat is a pass in which they advance. A sequence that joined at beat s with c tokens in its cache holds
c + (b - s) after beat b; so one sum tells what all hold, one count a remainder tells who needs a new block,
and a heap tells who ends next.
"""

from __future__ import annotations

from heapq import heappop, heappush


class Decodes:
    """The sequences of one replica that are past their prompts."""

    __slots__ = ("_bases", "_block", "_finals", "_heap", "_turns", "count", "sum_base", "sum_final")

    def __init__(self, block_tok: int) -> None:
        self._block = block_tok
        self._turns = [0] * block_tok  # who needs a new block at beats of each remainder
        self._heap: list[tuple[int, int]] = []
        self._finals: dict[int, int] = {}
        self._bases: dict[int, int] = {}
        self.count = 0
        self.sum_base = 0
        self.sum_final = 0

    def __contains__(self, request: int) -> bool:
        return request in self._finals

    def join(self, request: int, *, beat: int, held_tok: int, left_tok: int) -> None:
        """One more, with so many tokens held and so many to make, from the next beat on."""
        base, final = held_tok - beat, beat + left_tok
        self._finals[request], self._bases[request] = final, base
        heappush(self._heap, (final, request))
        self._turns[(1 - base) % self._block] += 1
        self.count += 1
        self.sum_base += base
        self.sum_final += final

    def leave(self, request: int) -> tuple[int, int]:
        """One less: its base and final beat."""
        base, final = self._bases.pop(request), self._finals.pop(request)
        self._turns[(1 - base) % self._block] -= 1
        self.count -= 1
        self.sum_base -= base
        self.sum_final -= final
        return base, final

    def ending(self, beat: int) -> list[tuple[int, int]]:
        """Those whose last token is made at this beat leave: each with the blocks it then holds."""
        heap: list[tuple[int, int]] = self._heap
        pairs: list[tuple[int, int]] = []
        while heap and heap[0][0] <= beat:
            final, request = heappop(heap)
            if self._finals.get(request) == final:
                base, _ = self.leave(request)
                pairs.append((request, -(-(base + beat) // self._block)))
        return pairs

    def next_end(self) -> int:
        """The beat at which the next one ends; there must be one."""
        heap = self._heap
        while self._finals.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0]

    def growth(self, beat: int, beats: int = 1) -> int:
        """Blocks taken by these beats, the first of them `beat`."""
        block = self._block
        if beats == 1:
            return self._turns[beat % block]
        rounds, rest = divmod(beats, block)
        return rounds * self.count + sum(self._turns[(beat + more) % block] for more in range(rest))

    def context_tok(self, beat: int) -> int:
        """Keys that all of them read together at a beat."""
        return self.sum_base + self.count * beat

    def promised_tok(self, beat: int) -> int:
        """Tokens still to be made before a beat."""
        return self.sum_final - self.count * (beat - 1)
