"""The law of a pass as a cheap function of plain numbers: tables made once from the law, and lines between.

A pass of next tokens alone lies on lines between points in (sequences, mean context). A pass with prompts is
what it takes before anything is looked back at, in (prompt tokens, sequences), and what looking back adds, in
(prompt tokens, keys each sees, sequences, mean context). On the points both are the law itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from math import ceil, log, sqrt

import numpy as np

from rigright.cost.speed.pipeline import most_of
from rigright.cost.speed.step import Pass

Grid = list[float]
Square = list[list[float]]
Place = tuple[int, float]  # cell of an axis, and how far into it
Law = Callable[[Pass], np.ndarray]  # contents of passes, arrays of one length -> seconds of each

FINE, COARSE, LONG = 2**0.25, 2.0, 2**0.5  # steps of grids
PROMPTS_TOLD = 9  # prompts of one pass, to see what each adds


class Pace:
    """Seconds of passes of one replica; `rounds` micro-batches go through its pipeline together.

    `overlap`: how far those of a prompt do, from one after the other (0) to all at once (1).
    """

    def __init__(
        self,
        law: Law,
        *,
        most_seqs: int,
        most_tok: int,
        most_context: int,
        rounds: int = 1,
        overlap: float = 1.0,
    ) -> None:
        self.rounds = rounds
        self._overlap = overlap
        self._spread = float(most_of(rounds))
        self._chunk = most_tok
        seqs = grid(most_seqs, FINE)
        self._seqs, self._contexts = seqs, grid(most_context, LONG)
        many, long = _points(seqs, self._contexts)
        none = np.zeros_like(many)
        content = Pass(prefill_tok=none, decode_seqs=many, decode_context_tok=long)
        table: Square = law(content).reshape(len(seqs), len(self._contexts)).tolist()
        self._decode = table
        self._toks = grid(most_tok, FINE)
        self._bare = _bare_table(law, self._toks, seqs=self._seqs)
        self._axes = grid(most_tok, COARSE), grid(most_context, COARSE)
        self._coarse_seqs = grid(most_seqs, COARSE)
        self._back = _back_table(law, self._axes[0], contexts=self._axes[1], seqs=self._coarse_seqs)
        self._prompt_s = _prompt_s(law, most_tok)
        self._rows: dict[int, list[float]] = {}
        self._seqs_at: dict[int, tuple[Place, Place]] = {}

    def decode_s(self, seqs: int, context_tok: float) -> float:
        """A pass in which so many sequences make a token, with so much context together."""
        row = self._row(seqs)
        cell, along = _place(self._contexts, context_tok / seqs)
        return row[cell] + (row[cell + 1] - row[cell]) * along

    def stride(self, seqs: int, context_tok: float, *, beats: int, gap_s: float) -> tuple[int, float]:
        """Passes until so many are done or so much time is over, and the time they take."""
        row, contexts = self._row(seqs), self._contexts
        mean, done, spent = context_tok / seqs, 0, 0.0
        while done < beats and spent < gap_s:
            cell = min(bisect_right(contexts, mean), len(contexts) - 1) - 1
            low, high = contexts[cell], contexts[cell + 1]
            slope = (row[cell + 1] - row[cell]) / (high - low)
            start = row[cell] + slope * (mean - low)
            here = beats - done
            if mean < high:
                here = min(here, int(high - mean) + 1)
            if spent + _sum_s(start, slope, passes=here) > gap_s:
                here = _passes(start, slope, gap_s=gap_s - spent, most=here)
            spent += _sum_s(start, slope, passes=here)
            done += here
            mean += here
        return done, spent

    def pass_s(self, tok: int, seen_tok: float, *, prompts: int, seqs: int, context_tok: float) -> float:
        """A pass that works on so many prompt tokens, each of which sees so many keys, and on sequences."""
        parts = self._parts(tok, prompts)
        share = tok / parts
        # where so many sequences stand on the fine and on the coarse axis
        pair = self._seqs_at.get(seqs)
        if pair is None:
            own = self._own(seqs)
            pair = _place(self._seqs, own), _place(self._coarse_seqs, own)
            self._seqs_at[seqs] = pair
        fine, coarse = pair
        bare = _between2(self._bare, (_place(self._toks, share), fine))
        toks, contexts = self._axes
        outer = (_place(toks, share), _place(contexts, seen_tok))
        inner = (coarse, _place(contexts, context_tok / seqs if seqs else 0.0))
        (row, along), (column, across) = outer
        near, far = self._back[row], self._back[row + 1]
        low, high = _between2(near[column], inner), _between2(near[column + 1], inner)
        left = low + (high - low) * across
        low, high = _between2(far[column], inner), _between2(far[column + 1], inner)
        back = left + (low + (high - low) * across - left) * along
        more = self._prompt_s * (prompts / parts - 1) if prompts > parts else 0.0
        whole = bare + back + more
        if not seqs or self.rounds == 1:
            return whole * parts / (1 + (parts - 1) * self._overlap)
        # all micro-batches go at the pace of the one with most prompts
        alone = self.decode_s(seqs, context_tok)
        return alone + max(whole - alone, 0.0) * parts / (1 + (parts - 1) * self._overlap)

    def _parts(self, tok: int, prompts: int) -> float:
        """Micro-batches that would share the prompts of a round evenly, as long as the fullest of them takes.

        A prompt longer than a pass is cut into as many as it needs; of several, chance says who has which.
        """
        if self.rounds == 1:
            return 1.0
        cut = min(ceil(tok / self._chunk), self.rounds)
        mean = prompts / self.rounds
        fullest = max(min(mean + self._spread * sqrt(mean), prompts), 1.0)
        return max(prompts / fullest, float(cut), 1.0)

    def _own(self, seqs: int) -> float:
        """Sequences of one micro-batch: none is cut in parts."""
        return max(seqs / self.rounds, min(seqs, 1))

    def _row(self, seqs: int) -> list[float]:
        """Seconds at each mean context, for so many sequences."""
        row = self._rows.get(seqs)
        if row is None:
            cell, part = _place(self._seqs, self._own(seqs))
            low, high = self._decode[cell], self._decode[cell + 1]
            row = [value + (other - value) * part for value, other in zip(low, high, strict=True)]
            self._rows[seqs] = row
        return row


def pace_of(
    law: Law, *, max_seqs: int, budget_tok: int, context_tok: int, rounds: int = 1, overlap: float = 1.0
) -> Pace:
    """Tables over all that passes of such a replica can hold."""
    return Pace(
        law,
        most_seqs=max(-(-max_seqs // rounds), 1),
        most_tok=max(budget_tok, 1),
        most_context=max(context_tok, 2),
        rounds=rounds,
        overlap=overlap,
    )


def _sum_s(start_s: float, slope_s: float, *, passes: int) -> float:
    """Passes each longer than the one before by the same."""
    return passes * (start_s + slope_s * (passes - 1) / 2)


def _passes(start_s: float, slope_s: float, *, gap_s: float, most: int) -> int:
    """The fewest passes, at least one, that fill a gap."""
    half = slope_s / 2
    linear = start_s - half
    guess = gap_s / start_s
    if half > 0:
        guess = 2 * gap_s / (linear + sqrt(linear * linear + 4 * half * gap_s))
    fewest = min(max(ceil(guess) - 1, 1), most)
    while fewest < most and _sum_s(start_s, slope_s, passes=fewest) < gap_s:
        fewest += 1
    return fewest


def grid(most: float, ratio: float) -> Grid:
    """Whole numbers from 0 to at least `most`, each larger than the last by a ratio."""
    powers = range(ceil(log(max(most, 1.0), ratio)) + 1)
    inside = {min(round(ratio**power), ceil(most)) for power in powers}
    return [float(point) for point in sorted({0, 1, *inside})]


def _bare_table(law: Law, toks: Grid, *, seqs: Grid) -> Square:
    """Prompts beside sequences, before anything is looked back at."""
    tok, many = _points(toks, seqs)
    content = Pass(prefill_tok=tok, prefill_seqs=np.minimum(tok, 1.0), decode_seqs=many)
    table: Square = law(content).reshape(len(toks), len(seqs)).tolist()
    return table


def _back_table(law: Law, toks: Grid, *, contexts: Grid, seqs: Grid) -> list[list[Square]]:
    """What keys that are seen add, by prompt tokens, keys of each, sequences, context."""
    tok, seen, many, long = _points(toks, contexts, seqs, contexts)
    bare = Pass(prefill_tok=tok, prefill_seqs=np.minimum(tok, 1.0), decode_seqs=many)
    added = law(replace(bare, prefill_seen_tok=seen, decode_context_tok=long)) - law(bare)
    table: list[list[Square]] = added.reshape(len(toks), len(contexts), len(seqs), len(contexts)).tolist()
    return table


def _points(*axes: Grid) -> list[np.ndarray]:
    """Every point of a grid, one array an axis."""
    return [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")]


def _prompt_s(law: Law, most_tok: int) -> float:
    """What each further prompt of a pass adds by itself."""
    prompts = np.array([1.0, PROMPTS_TOLD])
    few, many = law(Pass(prefill_tok=np.full(2, float(most_tok)), prefill_seqs=prompts))
    return max(float(many - few), 0.0) / (PROMPTS_TOLD - 1)


def _place(axis: Grid, at: float) -> Place:
    """The cell of an axis, and how far into it; behind the end the last cell goes on."""
    cell = bisect_right(axis, at) - 1
    cell = min(cell, len(axis) - 2)
    low = axis[cell]
    return cell, (at - low) / (axis[cell + 1] - low)


def _between2(table: Square, corner: tuple[Place, Place]) -> float:
    (row, along), (column, across) = corner
    low, high = table[row], table[row + 1]
    left = low[column] + (low[column + 1] - low[column]) * across
    right = high[column] + (high[column + 1] - high[column]) * across
    return left + (right - left) * along
