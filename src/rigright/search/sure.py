"""What an option costs until one surely does: its price over the chance that it keeps the limits.

A figure known from the data sheet alone may be far off; a plan at the very edge of a limit keeps it in
one case of two. Many cards in a machine are trouble of their own.

And what quality and speed are worth, the one exchange rate by which the first plan is chosen, as logarithms
of a price. A step of quality that can be measured costs what people pay for it; the step below 4 bit, where
answers get worse for all to see, far more than the next larger card.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rigright.base.record import dataclass
from rigright.base.units import KILO, show_bytes, show_seconds, show_short
from rigright.base.words import DECIDES, DOUBT, Sentence, say
from rigright.choice.layout import is_staged, surely
from rigright.choice.work import USUAL_TOK_PER_S, patience_s, works
from rigright.cost.bands import EDGE
from rigright.cost.estimate import SECONDS_PER_DAY, Estimate
from rigright.demand import Numbers, PlanWish
from rigright.predict.kept import RATES, SAFE, TIMES, UNPROVEN, chance
from rigright.search.figures import Limit
from rigright.search.loads import LEAST, SAFE_LOAD
from rigright.search.plans import Candidates
from rigright.search.record import LEAST_SPARE, Plan, Safe, Supply
from rigright.search.why import show_figure

DATA_SHEET = 1.25  # times the price, where of its chip or any like it no run is known
EACH_DOUBLING = 1.05  # of the cards: more to buy, to mount and to break
CROWDED, CARDS = 1.25, 4  # more cards without a server of their own need risers and a second power supply
READ_TOK_PER_S = 20.0  # written faster than this nobody reads along
WAITED = 0.5  # who waits for each word twice as long, pays half as much again for it not to be so
RANKS = (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11)  # of loss
COSTS = (0.0, 0.0, 0.03, 0.05, 0.1, 0.15, 0.22, 0.35, 0.9, 1.4, 2.0)
LONG_DAYS = 366  # nobody trains for so long
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


# in words: what keeps an answer from a plain tick


def limit_time(time_s: float) -> str:
    """A time as somebody set it: "1 s", "50 ms"."""
    return f"{time_s:.3g} s" if time_s >= 1 else f"{time_s * KILO:.3g} ms"


def idle_cards(supply: Supply | None, *, used: int) -> Iterator[Sentence]:
    """Cards that are paid for and have nothing to do."""
    paid = None if supply is None else supply.n_chips
    if paid is not None and paid > used:
        yield say("{idle} of {paid} GPUs stay idle", idle=paid - used, paid=paid)


def little_spare(spare_bytes: float, *, total_bytes: float, fills: bool) -> Iterator[Sentence]:
    """That a card is nearly full; `fills`: by its engine, or what has no room lies elsewhere."""
    if not fills and spare_bytes < LEAST_SPARE * total_bytes:
        yield say("only {spare} to spare", spare=show_bytes(spare_bytes))


def deciding(notes: Iterable[Sentence | str]) -> Iterator[Sentence]:
    """What notes say that costs an answer its tick."""
    return (note for note in notes if isinstance(note, Sentence) and note.kind == DECIDES)


def tight(high_bytes: float) -> Sentence:
    """That the high end of the memory does not fit."""
    return say("memory is tight, up to {high}", high=show_bytes(high_bytes))


def endless(days: Estimate | None, *, by_days: float | None) -> Iterator[Sentence]:
    """That nobody would wait so long, where no date was set."""
    if days is not None and days.value > LONG_DAYS and by_days is None:
        yield say("slow: over a year")


def unsure(
    certainty: Mapping[str, float], *, safe: Safe | None, limits: Mapping[str, Sentence | str]
) -> Iterator[Sentence]:
    """Limits that somebody named and that may well not hold: no load of those is safe."""
    for name, sure in certainty.items():
        if sure < SAFE and (safe is None or name not in TIMES) and name in limits:
            yield say("{limit} in only {count} of 10 cases", limit=limits[name], count=int(10 * sure))


def time_limits(wish: PlanWish) -> dict[str, Sentence | str]:
    """Limits of time and speed as they were set: "TTFT <= 1 s"."""
    limits: dict[str, Sentence | str] = {}
    for name, shown, most_s in (("ttft_s", "TTFT", wish.ttft_s), ("tpot_s", "TPOT", wish.tpot_s)):
        if most_s is not None:
            limits[name] = f"{shown} <= {limit_time(most_s)}"
    if wish.latency_s is not None:
        limits["latency_s"] = say("batch time <= {time}", time=limit_time(wish.latency_s))
    if wish.days is not None:
        limits["days"] = say("within {time}", time=show_seconds(wish.days * SECONDS_PER_DAY))
    if wish.tok_per_s is not None:
        limits["output_tok_per_s"] = f">= {show_short(wish.tok_per_s * wish.growth)} tok/s"
    return limits


def strained(
    work: str, *, ttft_s: float, tpot_s: float, users: float, prompt_tok: float | None
) -> Iterator[Sentence]:
    """What feels broken to whoever waits, though nobody named a limit."""
    usual = works()[work].ttft_s if work in works() else None
    if usual is None:
        return
    time = show_seconds(ttft_s)
    if ttft_s > patience_s(usual, prompt_tok or 0):
        yield say("overloaded: TTFT {time}", time=time) if users > 1 else say("slow: TTFT {time}", time=time)
    if tpot_s > 1 / USUAL_TOK_PER_S:
        rate = show_short(1 / tpot_s)
        yield say("only {rate} tok/s per user", rate=rate) if users > 1 else say("slower than reading speed")
