"""Options one a row: units in the heads, three digits in the cells, no column without figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rigright.base.page import Heading, Shown, Table, number, prose, table
from rigright.base.record import dataclass
from rigright.base.units import KILO, show_short
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish
from rigright.report.pages import plan_words as words
from rigright.report.pages.brief import amount, symbol
from rigright.report.pages.speed import at_share
from rigright.search.record import Plan

MOST_PLANS = 3
_SAID = frozenset(
    {
        "audio_h_per_h",
        "output_tok_per_s",
        "train_tok_per_s",
        "images_per_s",
        "texts_per_s",
        "usd",
        "usd_per_h",
    }
)

OF_TOKENS = frozenset({"output_tok_per_s", "ttft_s", "tpot_s", "usd_per_mtok"})  # none where audio is heard


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A column of figures: its head, and what one of them is shown as."""

    name: str  # of the figure
    head: Sentence
    scale: float = 1.0
    is_money: bool = False
    how: str = ""  # only of plans that are bought, or only of those that are rented

    def cell(self, plan: Plan, currency: str) -> str:
        """One figure."""
        estimate = words.estimate(plan, self.name)
        if estimate is None or (self.how and plan.supply.how != self.how):
            return ""
        value = estimate.value * self.scale
        return amount(value, currency) if self.is_money else show_short(value)


def heads(wish: PlanWish) -> tuple[Head, ...]:
    """Every column of figures there may be."""
    sign, at = symbol(wish.currency), at_share(wish.percentile)
    return (
        Head(name="audio_h_per_h", head=say("audio h/h")),
        Head(name="output_tok_per_s", head=say("tok/s")),
        Head(name="train_tok_per_s", head=say("tok/s")),
        Head(name="images_per_s", head=say("images/s")),
        Head(name="texts_per_s", head=say("texts/s")),
        Head(name="ttft_s", head=say("TTFT{at}, s", at=at)),
        Head(name="tpot_s", head=say("TPOT{at}, ms", at=at), scale=KILO),
        Head(name="latency_s", head=say("batch, s")),
        Head(name="days", head=say("hours"), scale=24),
        Head(name="usd", head=say("buy, {sign}", sign=sign), is_money=True, how="buy"),
        Head(name="usd_per_h", head=say("rent, {sign}/hour", sign=sign), is_money=True, how="rent"),
        Head(name="usd_per_mtok", head=say("{sign}/1M tok", sign=sign), is_money=True),
        Head(name="usd_per_audio_h", head=say("{sign}/audio hour", sign=sign), is_money=True),
        Head(name="usd_per_image", head=say("{sign}/1K images", sign=sign), is_money=True, scale=KILO),
        Head(name="usd_per_text", head=say("{sign}/1K texts", sign=sign), is_money=True, scale=KILO),
        Head(name="power_w", head=say("W")),
    )


def plans_table(plans: Sequence[Plan], *, wish: PlanWish, compared: bool = False) -> Table:
    """A row a plan; unless things are compared, what is alike in all stands in the answer above."""
    alone = len(plans) == 1
    texts: tuple[tuple[Heading, Callable[[Plan], Shown]], ...] = (
        (prose(say("machine")), words.source),
        (say("format"), words.formats),
        (number(say("concurrency")), words.concurrency),
    )
    columns: list[tuple[Heading, list[Shown]]] = []
    for place, (column, read) in enumerate(texts):
        sentences = [read(plan) for plan in plans]
        columns += [(column, sentences)] if len(set(sentences)) > 1 or (compared and not place) else []
    for head in heads(wish):
        if head.name in OF_TOKENS and any(words.transcribes(plan) for plan in plans):
            continue
        cells: list[Shown] = [head.cell(plan, wish.currency) for plan in plans]
        flag = not compared and head.name in _SAID and len(set(cells)) == 1
        power = compared or alone or wish.power_w is not None or wish.aim == "power"
        if any(cells) and not flag and (power or head.name != "power_w"):
            columns.append((number(head.head), cells))
        certain: list[Shown] = [words.certain(plan) for plan in plans] if head.name == "tpot_s" else []
        if len(set(certain)) > 1:
            columns.append((number(say("certain")), certain))
        surely = [words.safe(plan) for plan in plans] if head.name == "output_tok_per_s" else []
        if any(surely) and (not alone or compared):
            columns.append((number(say("safe")), surely))
    why = [words.why(plan) for plan in plans]
    if not alone and not compared and any(why):
        columns.append((prose(say("why")), why))
    rows = tuple(zip(*(cells for _, cells in columns), strict=True))
    return table((column for column, _ in columns), rows)


def money_rows(figures: Mapping[str, Estimate], *, wish: PlanWish) -> Iterator[tuple[Shown, ...]]:
    """Price and power with their bands, headed as the columns of a plan."""
    for head in heads(wish):
        estimate = figures.get(head.name)
        if estimate is None or not (head.is_money or head.name == "power_w"):
            continue
        cells = [
            amount(value * head.scale, wish.currency) if head.is_money else show_short(value * head.scale)
            for value in (estimate.value, estimate.low, estimate.high)
        ]
        yield (
            head.head if head.name != "usd_per_h" else say("{sign}/hour", sign=symbol(wish.currency)),
            cells[0],
            "-".join(cells[1:]),
        )
