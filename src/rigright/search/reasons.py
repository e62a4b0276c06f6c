"""Why each plan is among the plans: read off the columns that are shown, beside the plans that are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rigright.base.record import dataclass, replace
from rigright.base.words import DOUBT, Sentence, say
from rigright.search.record import Plan

NEAR = 1.005  # times a figure, within which two read alike
FASTER = 1.25  # times the speed, that decides before a chance does
CERTAIN = 0.01  # of a chance, that tells two apart


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    """What a plan shows of itself, as things to have less of."""

    plan: Plan
    usd: float | None  # of the machine, where it is bought
    cost: float  # of an hour under a load that was stated, else of a token
    time: float  # of a token of all users
    loss: float
    doubt: float

    def is_cheaper(self, other: FrontRow) -> bool:
        """Whether it costs less, by each price that both show."""
        prices = [(self.cost, other.cost)]
        if self.usd is not None and other.usd is not None:
            prices.append((self.usd, other.usd))
        no_dearer = all(own <= its * NEAR for own, its in prices)
        return no_dearer and any(own * NEAR < its for own, its in prices)

    def is_less(self, other: FrontRow) -> bool:
        """Whether some price of it is lower."""
        bought = self.usd is not None and other.usd is not None and self.usd * NEAR < other.usd
        return bought or self.cost * NEAR < other.cost


def with_reasons(
    plans: Sequence[Plan], losses: Sequence[float], *, loaded: bool, kept: bool = True
) -> tuple[Plan, ...]:
    """The plans that have a reason, each with it.

    `losses`: of weights and caches; `kept`: they keep what everybody wants.
    """
    rows = [_row(plan, loss, loaded=loaded) for plan, loss in zip(plans, losses, strict=True)]
    first, *others = rows
    cheapest = say("cheapest that meets every limit") if kept else say("cheapest of what comes closest")
    lead = () if len(rows) == 1 and plans[0].reasons else (_leads(first, others, cheapest=cheapest),)
    result = [replace(first.plan, reasons=(*lead, *first.plan.reasons))]
    for row in others:
        least = not any(front_row.is_less(row) for front_row in rows)
        named = any(cheapest in plan.reasons for plan in result)
        sentences = [cheapest] if least and row.is_cheaper(first) and not named else []
        sentences += [
            sentence for sentence in row.plan.reasons if sentence.kind != DOUBT or row.is_cheaper(first)
        ]
        reasons = tuple(sentences) or tuple(_beside(row, first))
        if reasons:  # else it gains in nothing that is shown
            result.append(replace(row.plan, reasons=reasons))
    return tuple(result)


def _row(plan: Plan, loss: float, *, loaded: bool) -> FrontRow:
    figures = {name: estimate.value for name, estimate in plan.figures.items()}
    each = next((name for name in ("usd_per_audio_h", "usd_per_mtok") if name in figures), "")
    return FrontRow(
        plan=plan,
        usd=figures.get("usd") if plan.supply.how == "buy" else None,
        cost=figures.get("usd_per_h" if loaded else each, math.inf),
        time=1 / max(figures.get("output_tok_per_s", 0.0), 1e-9),
        loss=loss,
        doubt=1 - min(plan.certainty.values(), default=1.0),
    )


def _leads(first: FrontRow, others: Sequence[FrontRow], *, cheapest: Sentence) -> Sentence:
    """Why the first is before what costs less: all of that is worse in one way, or each in its own."""
    cheaper = [front_row for front_row in others if front_row.is_less(first)]
    if not cheaper:
        return cheapest
    if all(front_row.loss > first.loss for front_row in cheaper):
        return say("cheapest at this quality")
    if all(front_row.time > first.time * FASTER for front_row in cheaper):
        return say("cheapest at this speed")
    if all(front_row.doubt > first.doubt + CERTAIN for front_row in cheaper):
        return say("cheapest that is as certain")
    if all(front_row.time > first.time * NEAR for front_row in cheaper):
        return say("cheapest at this speed")
    return say("best balance of price, speed and quality")


def _beside(row: FrontRow, first: FrontRow) -> Iterator[Sentence]:
    """What it gains over the first, and what it gives up for that."""
    slower, faster = row.time > first.time * NEAR, row.time * NEAR < first.time
    if row.is_cheaper(first):
        if row.loss > first.loss:
            yield say("cheaper, lower quality")
        elif slower:
            yield say("cheaper, slower")
        elif row.doubt > first.doubt + CERTAIN:
            yield say("cheaper, less certain")
    elif row.loss < first.loss:
        yield say("better quality, slower") if slower else say("better quality, costs more")
    elif faster:
        yield say("faster, costs more")
    elif row.doubt < first.doubt - CERTAIN:
        yield say("more certain, costs more")
