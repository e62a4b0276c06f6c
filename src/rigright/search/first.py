"""Which option comes first where the best is wanted, and what one costs until it surely keeps its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from rigright.base.record import dataclass
from rigright.base.words import DOUBT, Sentence, say
from rigright.choice.layout import is_staged, surely
from rigright.choice.ways import ANY_LOSS, USUAL_LOSS, quality_class
from rigright.cost.bands import EDGE
from rigright.demand import Numbers
from rigright.predict.columns import grouped
from rigright.predict.kept import RATES, SAFE, UNPROVEN, chance
from rigright.search.figures import Limit, left_over, usual_limits
from rigright.search.loads import LEAST, SAFE_LOAD
from rigright.search.plans import Candidates
from rigright.search.record import LEAST_SPARE, Plan
from rigright.search.why import show_figure

DATA_SHEET = 1.25  # times the price, where of its chip or any like it no run is known
EACH_DOUBLING = 1.05  # of the cards: more to buy, to mount and to break
CROWDED, CARDS = 1.25, 4  # more cards without a server of their own need risers and a second power supply
READ_TOK_PER_S = 20.0  # written faster than this nobody reads along
WAITED = 0.5  # who waits for each word twice as long, pays half as much again for it not to be so
RANKS = (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11)  # of loss
COSTS = (0.0, 0.0, 0.03, 0.05, 0.1, 0.15, 0.22, 0.35, 0.9, 1.4, 2.0)
FASTER = 0.15  # of the price for each e times the output
SPENT = 0.15  # of a price within a budget that was named: it is there to be spent
SLOWER = 0.2  # for each halving of the speed that is enough for the work
OF_A_TOKEN = "usd_per_mtok"  # noqa: S105 - a price


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What makes each option cost more than its price: factors, 1 where nothing does."""

    broken: dict[str, Numbers]  # by limit: one over the chance that it is kept
    unproven: Numbers
    many: Numbers
    slow: Numbers
    spread: Numbers  # of what a token costs: its expectation over its middle
    staged: Numbers  # and what it costs where a pipeline serves no more than it surely does

    @property
    def weight(self) -> Numbers:
        """All of them together."""
        return self.unsure * self.many * self.slow * self.spread * self.staged

    @property
    def unsure(self) -> Numbers:
        """One over the chance that all limits are kept, more where no run is known."""
        value = self.unproven
        for item in self.broken.values():
            value = value * item
        return value


def doubts_of(table: Candidates, limits: Sequence[Limit], *, index: Numbers, cost: str) -> Doubts:
    """The doubts about some options, where `cost` is what counts."""
    question, points = table.question, table.scored.points
    point = table.options.index[index]
    served = {name: column[point] for name, column in table.scored.served.items()}
    output = np.log(served["output_tok_per_s_edge"]) / EDGE
    # in a chat without a limit, what is written slower than it is read
    wish = question.wish
    if wish.work != "chat" or wish.tpot_s is not None:
        slow = np.ones(len(index))
    else:
        slow = np.maximum(table.figures["tpot_s"][index] * READ_TOK_PER_S, 1.0) ** WAITED
    # trouble with many cards: a little for each doubling, more where no server holds them
    kind = points.kind[point]
    homely = np.array([kind.chip.segment != "datacenter" for kind in question.kinds])[kind]
    value = np.minimum(points.n_chips[point], np.array([kind.per_node for kind in question.kinds])[kind])
    crowded = np.where(homely & (value > CARDS), CROWDED, 1.0)
    return Doubts(
        broken=_broken(served, limits, index=index),
        unproven=np.where(served[UNPROVEN] > 0, DATA_SHEET, 1.0),
        many=crowded * EACH_DOUBLING ** np.log2(points.n_chips[point]),
        slow=slow,
        spread=np.exp(output**2 / 2) if cost == OF_A_TOKEN else np.ones(len(index)),
        staged=1 / surely(1.0, staged=staged_at(table, point) & (cost == OF_A_TOKEN)),
    )


def staged_at(table: Candidates, point: Numbers) -> Numbers:
    """Which of some points are pipelines of what could be cut otherwise."""
    points = table.scored.points
    splits = np.array([way.engine.split for way in table.question.ways])
    return is_staged(splits[points.way[point]], points.pp[point])


def _broken(served: Mapping[str, Numbers], limits: Sequence[Limit], *, index: Numbers) -> dict[str, Numbers]:
    """By limit: one over the chance that it is kept; of a free load 1 where some load safely keeps it."""
    values = {}
    for limit in limits:
        edge = served.get(f"{limit.name}_edge")
        if edge is None:
            continue
        beyond = limit.excess[index]
        if limit.name in LEAST:
            least = np.log(np.maximum(served[LEAST[limit.name]], 1e-30) / limit.bound)
            beyond = np.where(np.isnan(least), beyond, least)
        kept = chance(beyond, edge)
        free = np.isfinite(served[SAFE_LOAD])
        values[limit.name] = np.where(free, 1.0, 1 / kept)
    return values


def doubted(plan: Plan, doubts: Doubts, *, limits: Sequence[Limit], place: int, first: int) -> Plan:
    """A plan that is cheaper than the first, with what keeps it from being first."""
    ratios = {name: float(value[place] / value[first]) for name, value in doubts.broken.items()}
    others = {"many": doubts.many, "slow": doubts.slow, "unproven": doubts.unproven}
    ratios |= {name: float(value[place] / value[first]) for name, value in others.items()}
    worst = max(ratios, key=lambda name: ratios[name])
    if ratios[worst] <= 1:
        return plan
    plain = {
        "many": say("cheaper, but {count} GPUs", count=plan.n_chips),
        "slow": say("cheaper, but slower for each user"),
        "unproven": say("cheaper, but no benchmark of it"),
    }
    bounds = {limit.name: limit.bound for limit in limits}
    reason = plain[worst] if worst in plain else _may(plan, worst, bound=bounds[worst])
    return plan if reason is None else replace(plan, reasons=(reason.of(DOUBT), *plan.reasons))


def _may(plan: Plan, name: str, *, bound: float) -> Sentence | None:
    """What may become of a limit in one case of ten; None where it is kept even then."""
    estimate = plan.figures[name]
    if (estimate.low >= bound) if name in RATES else (estimate.high <= bound):
        return None
    edge = show_figure(name, estimate.low if name in RATES else estimate.high, digits=2)
    shown = {"edge": edge, "bound": show_figure(name, bound)}
    what = {
        "ttft_s": say("TTFT may reach {edge}, limit {bound}", **shown),
        "tpot_s": say("TPOT may reach {edge}, limit {bound}", **shown),
    }.get(name, say("may serve only {edge}, asked for {bound}", **shown))
    if estimate.mark == "physics":
        return say("cheaper, but no benchmark of it: {what}", what=what)
    return say("cheaper, but {what}", what=what)


def quality_cost(loss: Numbers) -> Numbers:
    """What the loss of weights and caches takes off the price of a plan."""
    return np.interp(loss, RANKS, COSTS)


def speed_worth(output: Numbers, *, load_given: bool) -> Numbers:
    """What more output is worth under one load; where the load is open, its price is that of a token."""
    return FASTER * np.log(np.maximum(output, 1e-9)) if load_given else np.zeros(len(output))


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
