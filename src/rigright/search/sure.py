"""What an option costs until one surely does: its price over the chance that it keeps the limits.

A figure known from the data sheet alone may be far off; a plan at the very edge of a limit keeps it in
one case of two. Many cards in a machine are trouble of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rigright.base.record import dataclass
from rigright.base.words import Sentence, say
from rigright.cost.bands import band, figure_of
from rigright.cost.known import NOTHING, known_of, ran
from rigright.demand import Numbers
from rigright.facts.engines import Engine
from rigright.predict.told import MEASURED, subject_of
from rigright.search.figures import Limit
from rigright.search.plans import Table
from rigright.search.record import Plan
from rigright.search.why import show_figure

TENTH = 1.2816  # standard deviations from the middle to the edge of an 80 % band
LOGISTIC = 1.702  # a logistic curve so steep is a normal one, to a hundredth
UNPROVEN = 1.25  # of its chip or any like it no run is known: the speed is the data sheet's
EACH_DOUBLING = 1.05  # of the cards: more to buy, to mount and to break
CROWDED, CARDS = 1.25, 4  # more cards without a server of their own need risers and a second power supply
READ_TOK_PER_S = 20.0  # written faster than this nobody reads along
WAITED = 0.5  # who waits for each word twice as long, pays half as much again for it not to be so
RATES = {"output_tok_per_s", "requests_per_s"}
OF_A_TOKEN = "usd_per_mtok"  # noqa: S105 - a price


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What makes each option cost more than its price: factors, 1 where nothing does."""

    broken: dict[str, Numbers]  # by limit: one over the chance that it is kept
    unproven: Numbers
    many: Numbers
    slow: Numbers
    spread: Numbers  # of what a token costs: its expectation over its middle

    @property
    def weight(self) -> Numbers:
        """All of them together."""
        found = self.unproven * self.many * self.slow * self.spread
        for one in self.broken.values():
            found = found * one
        return found


def doubts_of(table: Table, limits: Sequence[Limit], *, index: Numbers, cost: str) -> Doubts:
    """The doubts about some options, where `cost` is what counts."""
    # how many times worse each figure may be, one option each; and whether its chip is unproven
    question, points = table.question, table.scored.points
    point = table.options.index[index]
    engines = list({one.engine.id for one in question.ways})
    engine = np.array([engines.index(one.engine.id) for one in question.ways])[points.way[point]]
    apart = points.prefill_dp[point] > 0
    pairs, place = np.unique(engine * len(question.kinds) + points.kind[point], return_inverse=True)
    whole, split = (_edges(table, pairs, engines=engines, split=one) for one in (False, True))
    widths = {name: np.where(apart, split[name][place], whole[name][place]) for name in whole}
    output = np.log(widths["output_tok_per_s"]) / TENTH
    # in a chat without a limit, what is written slower than it is read
    wish = question.wish
    if wish.work != "chat" or wish.tpot_s is not None:
        slow = np.ones(len(index))
    else:
        slow = np.maximum(table.figures["tpot_s"][index] * READ_TOK_PER_S, 1.0) ** WAITED
    # trouble with many cards: a little for each doubling, more where no server holds them
    kind = points.kind[point]
    homely = np.array([kind.chip.segment != "datacenter" for kind in question.kinds])[kind]
    held = np.minimum(points.n_chips[point], np.array([kind.per_node for kind in question.kinds])[kind])
    crowded = np.where(homely & (held > CARDS), CROWDED, 1.0)
    return Doubts(
        broken={
            limit.name: 1 / _chance(limit.excess[index], widths[limit.name])
            for limit in limits
            if limit.name in widths
        },
        unproven=np.where(widths["unproven"] > 0, UNPROVEN, 1.0),
        many=crowded * EACH_DOUBLING ** np.log2(points.n_chips[point]),
        slow=slow,
        spread=np.exp(output**2 / 2) if cost == OF_A_TOKEN else np.ones(len(index)),
    )


def _chance(excess: Numbers, width: Numbers) -> Numbers:
    """That a limit is kept by what may be `width` times worse than its figure in one case of ten."""
    away = -excess * TENTH / np.log(np.maximum(width, 1.001))
    return 1 / (1 + np.exp(np.clip(-LOGISTIC * away, -30, 30)))


def _edges(table: Table, pairs: Numbers, *, engines: Sequence[str], split: bool) -> dict[str, Numbers]:
    """The same for each pair of engine and kind; `split`: prompts have workers of their own."""
    question = table.question
    found = {name: np.ones(len(pairs)) for name in ("ttft_s", "tpot_s", *sorted(RATES), "unproven")}
    for subject, engine, mine in _groups(table, pairs, engines=engines):
        chips = [question.kinds[one].chip for one in pairs[mine] % len(question.kinds)]
        # what differs from one who measures to the next moves every option alike
        known = replace(known_of(subject, chips, what=ran(question.arch, engine=engine)), source=True)
        for name in ("ttft_s", "tpot_s", *RATES):
            figure, is_inverse = MEASURED[subject][name]
            low, high = band(subject, figure_of(figure, split=split), known=known)
            found[name][mine] = high if (name in RATES) == is_inverse else 1 / low
        found["unproven"][mine] = known.chip <= NOTHING
    return found


def _groups(table: Table, pairs: Numbers, *, engines: Sequence[str]) -> Iterator[tuple[str, Engine, Numbers]]:
    """The pairs of engine and kind that go by the same runs: their subject, their engine, their places."""
    question = table.question
    by_id = {one.engine.id: one.engine for one in question.ways}
    groups: dict[tuple[str, str], list[int]] = {}
    for place, pair in enumerate(pairs.tolist()):
        engine, kind = divmod(pair, len(question.kinds))
        subject = subject_of(by_id[engines[engine]], question.kinds[kind].chip)
        groups.setdefault((subject, engines[engine]), []).append(place)
    for (subject, name), places in groups.items():
        yield subject, by_id[name], np.array(places)


def doubted(plan: Plan, doubts: Doubts, *, limits: Sequence[Limit], place: int, first: int) -> Plan:
    """A plan that is cheaper than the first, with what keeps it from being first."""
    ratios = {name: float(one[place] / one[first]) for name, one in doubts.broken.items()}
    others = {"many": doubts.many, "slow": doubts.slow, "unproven": doubts.unproven}
    ratios |= {name: float(one[place] / one[first]) for name, one in others.items()}
    worst = max(ratios, key=lambda name: ratios[name])
    plain = {
        "many": say("cheaper, but {count} GPUs", count=plan.n_chips),
        "slow": say("cheaper, but slower for each user"),
        "unproven": say("cheaper, but no benchmark of it"),
    }
    bounds = {limit.name: limit.bound for limit in limits}
    reason = plain[worst] if worst in plain else _may(plan, worst, bound=bounds[worst])
    return replace(plan, reasons=(reason, *plan.reasons))


def _may(plan: Plan, name: str, *, bound: float) -> Sentence:
    told = plan.figures[name]
    edge = show_figure(name, told.low if name in RATES else told.high, digits=2)
    shown = {"edge": edge, "bound": show_figure(name, bound)}
    what = {
        "ttft_s": say("TTFT may reach {edge}, limit {bound}", **shown),
        "tpot_s": say("TPOT may reach {edge}, limit {bound}", **shown),
    }.get(name, say("may serve only {edge}, asked for {bound}", **shown))
    if told.mark == "physics":
        return say("cheaper, but no benchmark of it: {what}", what=what)
    return say("cheaper, but {what}", what=what)
