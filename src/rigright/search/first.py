"""Which option comes first where not the cheapest is wanted but the best: on a machine, or for a budget.

A machine that is paid for gives up no quality while it can be had at half its speed, and its cards idle
where more of them are slower. A budget buys quality of weights and speed until it is enough for the work, at
the rate of `sure.py`; the rest is kept.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from rigright.choice.layout import surely
from rigright.choice.ways import ANY_LOSS, USUAL_LOSS, quality_class
from rigright.demand import Numbers
from rigright.predict.columns import grouped
from rigright.predict.kept import SAFE
from rigright.search.figures import left_over, usual_limits
from rigright.search.plans import Candidates
from rigright.search.record import LEAST_SPARE
from rigright.search.sure import SLOWER, SPENT, Doubts, staged_at

STEPS = 4  # of speed in each doubling: what is closer counts as equal
NEAR = 1.03  # times that differ less count as equal
HALF = 2.0  # of the most output: better weights that reach so much of it go before
DESK_CARDS = 4


def buys_best(table: Candidates) -> bool:
    """Whether the best is wanted, and not the cheapest that will do: a machine is named, or a budget."""
    wish = table.question.wish
    named = wish.on is not None or (
        wish.owned is not None and all(kind.owned for kind in table.question.kinds)
    )
    return wish.aim is None and (named or wish.budget_usd is not None)


def ranks_of(table: Candidates, doubts: Doubts, *, index: Numbers, price: Numbers, lost: Numbers) -> Numbers:
    """The place of each option in that order, 0 the first; what may well miss a limit stands behind.

    `price` is sure, and `lost` what quality and speed take off it.
    """
    question, options = table.question, table.options
    points, ways = table.scored.points, question.ways
    point = options.index[index]
    way = points.way[point]
    figures = {name: column[index] for name, column in table.figures.items()}
    loss = figures["loss"]
    quality = np.array([quality_class(value) for value in loss]) + (loss % 1)
    unusual = ~np.array([value.usual for value in ways])[way] | (points.prefill_dp[point] > 0)
    unsure = np.any(
        [value > 1 / SAFE for value in doubts.broken.values()] or [np.zeros(len(index), bool)], axis=0
    )
    wish = question.wish
    paced = wish.tpot_s is not None or not question.is_loaded  # by a limit that all of them keep
    enough = 0.0 if paced else question.usual.enough_tok_per_s
    late = _late(table, index)
    # a user waits for the first token as for the rest: a queue is no cure for slow tokens
    answer = wish.output_tok or 1
    token_s = (figures["ttft_s"] + figures["tpot_s"] * (answer - 1)) / answer
    slow = np.ceil(STEPS * np.log2(np.maximum(token_s * enough, 1.0)))
    crowd = _crowded(table, point)
    if wish.on is None and wish.owned is None:
        crawls = slow > STEPS  # not half as fast as is enough: better weights are no comfort then
        fills = np.array([value.engine.pool == "share" for value in ways])[way]
        full = ~fills & (left_over(table.scored)[point] < LEAST_SPARE)
        merit = SPENT * np.log(price) + lost + SLOWER * slow / STEPS
        # fewer than four bits come first only where four crawl
        behind = crawls & ~crawls.all()
        lossy = np.where(behind, ANY_LOSS, np.maximum(np.floor(loss) - USUAL_LOSS, 0))
        return _order(lossy, crowd, unusual, unsure, late, crawls, full, merit, price)
    paid = max(kind.whole or kind.owned for kind in question.kinds)
    idle = np.maximum(paid - points.n_chips[point], 0)
    staged = staged_at(table, point)
    level = grouped(unusual, unsure, late, quality, slow)
    if not question.is_loaded:
        output = surely(figures["output_tok_per_s"], staged=staged)
        poor = ~_near_most(output, loss=loss, level=level)
        return _order(unusual, unsure, late, quality, slow, poor, loss, -output, idle, price)
    rate = surely(1 / token_s, staged=staged)
    poor = ~_near_most(rate, loss=loss, level=level)
    each = -np.round(np.log(rate) / np.log(NEAR))
    cards, ttft = points.n_chips[point], figures["ttft_s"]
    return _order(unusual, unsure, late, quality, slow, poor, loss, each, idle, ttft, cards, price)


def _late(table: Candidates, index: Numbers) -> Numbers:
    """How far what nobody named and everybody wants is missed: half doublings of the time; 0: it is kept."""
    limits = usual_limits(table.question, table.figures)
    missed = [np.ones(len(index)), *(limit.reached[index] / limit.bound for limit in limits)]
    return np.ceil(2 * np.log2(np.max(missed, axis=0)))


def _crowded(table: Candidates, point: Numbers) -> Numbers:
    """More cards of a desk, or of a generation no longer made, than a board and a power supply carry."""
    points, kinds = table.scored.points, table.question.kinds
    homely = [kind.chip.segment != "datacenter" or kind.chip.ended is not None for kind in kinds]
    return np.array(homely)[points.kind[point]] & (points.n_chips[point] > DESK_CARDS)


def _near_most(output: Numbers, *, loss: Numbers, level: Numbers) -> Numbers:
    """Whether weights of such a loss reach half of the most output among equals."""
    good = np.zeros(len(output), dtype=bool)
    for value, rank in product(set(level.tolist()), set(loss.tolist())):
        mine = (level == value) & (loss == rank)
        if mine.any():
            good |= mine & (output[mine].max() * HALF >= output[level == value].max())
    return good


def _order(*columns: Numbers) -> Numbers:
    order = np.lexsort(columns[::-1])
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return ranks
