"""What a machine costs and draws, said alike by `plan` and `explain`: in a verdict, as rows, as doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rigright.base.money import show_money
from rigright.base.page import Shown
from rigright.base.units import show_bytes, show_short
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish
from rigright.report.pages.brief import amount
from rigright.search.record import Supply

LEAST_SPARE = 0.03  # of a card that no engine fills on purpose: below it the verdict says that it is tight


def money_said(figures: Mapping[str, Estimate], supply: Supply, *, currency: str) -> Shown:
    """What it costs and when that was so, in a verdict."""
    if supply.how == "own":
        return say("your own")
    if supply.how == "buy":
        known = figures.get("usd")
        told: Shown = "" if known is None else show_money(known.value, currency)
        if told and supply.used:
            told = say("{usd} with used cards", usd=told)
    elif "days" in figures and "usd_total" in figures:
        told = say("{usd} in total", usd=show_money(figures["usd_total"].value, currency))
    else:
        known = figures.get("usd_per_h")
        told = "" if known is None else say("{usd}/hour", usd=show_money(known.value, currency))
    if not told:
        return say("no price known")
    return told if supply.as_of is None else say("{usd} ({date})", usd=told, date=supply.as_of[:7])


def money_rows(figures: Mapping[str, Estimate], *, wish: PlanWish) -> Iterator[tuple[Shown, ...]]:
    """Price and power with their bands, headed as the columns of a plan."""
    from rigright.report.pages.plan_table import heads

    for head in heads(wish):
        found = figures.get(head.name)
        if found is None or not (head.is_money or head.name == "power_w"):
            continue
        cells = [
            amount(value * head.scale, wish.currency) if head.is_money else show_short(value * head.scale)
            for value in (found.value, found.low, found.high)
        ]
        yield head.head if head.name != "usd_per_h" else _per_hour(wish), cells[0], "-".join(cells[1:])


def _per_hour(wish: PlanWish) -> Sentence:
    from rigright.report.pages.brief import symbol

    return say("{sign}/hour", sign=symbol(wish.currency))


def idle_cards(supply: Supply | None, *, used: int) -> Iterator[Sentence]:
    """Cards that are paid for and have nothing to do."""
    paid = None if supply is None else supply.n_chips
    if paid is not None and paid > used:
        yield say("{idle} of {paid} GPUs stay idle", idle=paid - used, paid=paid)


def little_spare(spare_bytes: float, *, total_bytes: float, fills: bool) -> Iterator[Sentence]:
    """That a card is nearly full; `fills`: by its engine, or what has no room lies elsewhere."""
    if not fills and spare_bytes < LEAST_SPARE * total_bytes:
        yield say("only {spare} to spare", spare=show_bytes(spare_bytes))
