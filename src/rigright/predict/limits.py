"""How far a case goes: the largest context and batch that fit, found by the law itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rigright.choice.case import Case
from rigright.demand import Numbers
from rigright.predict.ranks import is_even, spare_bytes, worst

MOST_CONTEXT_TOK = 2**24
MOST_BATCH = 2**17
PARTS = 64  # that one call cuts what is open into


def context_limit(case: Case) -> int | None:
    """The same as `largest_context`; None where neither the model nor the cards set an end."""
    number = largest_context(case)
    return None if case.arch.max_context_tok is None and number == MOST_CONTEXT_TOK else number


def largest_context(case: Case) -> int:
    """The most tokens a sequence may have with all sequences of the batch as long; 0: none."""
    most = case.arch.max_context_tok or MOST_CONTEXT_TOK
    return _largest(case, lambda tokens: (tokens, case.serving.batch), most=most)


def largest_batch(case: Case) -> int:
    """The most sequences of this context at once; 0: none."""
    return _largest(case, lambda count: (case.serving.context_tok, count), most=MOST_BATCH)


def _largest(case: Case, ask: Callable[[Numbers], tuple[Numbers, Numbers]], *, most: int) -> int:
    """By many candidates in one call where cards are alike, else one by one: each candidate costs a call."""

    def spare(candidates: Numbers) -> Numbers:
        context_tok, batch = ask(candidates)
        return spare_bytes(case, context_tok=context_tok, batch=batch)

    def spare_of_one(candidate: int) -> float:
        context_tok, batch = ask(candidate)
        return float(worst(case.over(context_tok=context_tok, batch=batch)).spare_bytes)

    return largest(spare, most) if is_even(case) else largest_alone(spare_of_one, most)


def largest(spare: Callable[[Numbers], Numbers], most: int) -> int:
    """The largest whole number up to `most` whose spare is not negative; spare never grows with it."""
    low, high = 0, most + 1
    while high - low > 1:
        candidates = np.linspace(low, high, min(PARTS, high - low) + 1).astype(int)[1:-1]
        fits = np.broadcast_to(spare(candidates) >= 0, candidates.shape)
        reached = int(np.count_nonzero(fits))
        low, high = (
            int(candidates[reached - 1]) if reached else low,
            int(candidates[reached]) if reached < len(candidates) else high,
        )
    return low


def largest_alone(spare: Callable[[int], float], most: int) -> int:
    """The same with few calls: where the line between what fits and what does not crosses nothing.

    Caches grow evenly, so the line is straight but for steps; every third candidate halves what is open.
    """
    low, high = 1, most
    over = spare(high)
    if over >= 0:
        return high
    under = spare(low) if low < high else over
    if under < 0:
        return 0
    turn = 0
    while high - low > 1:
        turn += 1
        crossing = low + int((high - low) * under / (under - over)) if np.isfinite(under - over) else low
        candidate = (low + high) // 2 if turn % 3 == 0 else min(max(crossing, low + 1), high - 1)
        value = spare(candidate)
        if value >= 0:
            low, under = candidate, value
        else:
            high, over = candidate, value
    return low
