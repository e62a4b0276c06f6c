"""Plans side by side: one a row on one screen, or figures down and plans across."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from rigright.base.page import Heading, Shown, Table, number, prose, table
from rigright.base.words import Sentence, say, with_commas
from rigright.cost.estimate import Estimate
from rigright.demand import PlanWish, Training
from rigright.report.pages import plan_words as words
from rigright.report.pages.figures import COLUMNS, FIGURES, RATES, figure_rows
from rigright.search import named
from rigright.search.record import Plan

MOST_PLANS = 3
_IN_ANSWER = frozenset({*RATES, "usd", "usd_per_h"})  # what is alike in all line 1 has already
_OF_TOKENS = frozenset({"output_tok_per_s", "ttft_s", "tpot_s", "usd_per_mtok"})  # none where audio is heard

Row = tuple[Shown, ...]


def plans_table(
    plans: Sequence[Plan], *, wish: PlanWish, compared: bool = False, things: Sequence[str] = ()
) -> Table:
    """A row a plan; unless things are compared, what is alike in all stands in the answer above.

    `things`: what each is called where they are no machines.
    """
    alone = len(plans) == 1
    columns: list[tuple[Heading, list[Shown]]] = [("", list(things))] if things else []

    def add(head: Heading, read: Callable[[Plan], Shown], *, least: int = 1, always: bool = False) -> None:
        cells = [read(plan) for plan in plans]
        if always or (any(cells) and len(set(cells)) >= least):
            columns.append((head, cells))

    add(prose(say("machine")), words.source, least=2, always=compared and not things)
    add(say("format"), words.formats, least=2)
    add(number(say("concurrency")), words.concurrency, least=2)
    power = compared or alone or wish.power_w is not None or wish.aim == "power"
    heard = any(words.transcribes(plan) for plan in plans)
    for name in COLUMNS:
        if (heard and name in _OF_TOKENS) or (name == "power_w" and not power):
            continue
        head = number(FIGURES[name].titled(currency=wish.currency, percentile=wish.percentile))
        least = 2 if name in _IN_ANSWER and not compared else 1
        add(head, partial(_figure, name=name, wish=wish), least=least)
        if name == "tpot_s":
            add(number(say("certain")), words.certain, least=2)
        if name == "output_tok_per_s" and (compared or not alone):
            add(number(say("safe")), words.safe)
    if not alone and not compared:
        add(prose(say("why")), words.why)
    return table((column for column, _ in columns), zip(*(cells for _, cells in columns), strict=True))


def _figure(plan: Plan, *, name: str, wish: PlanWish) -> str:
    return FIGURES[name].cell(words.estimate(plan, name), wish.currency, how=plan.supply.how)


def across(plans: Iterable[Plan | None], head: Sentence, *, value: Callable[[Plan], Shown]) -> Row:
    """A row with a cell a plan; an empty one of what has none."""
    return (head, *("" if plan is None else value(plan) for plan in plans))


def rows_across(
    plans: Sequence[Plan | None],
    figures: Sequence[Mapping[str, Estimate]],
    *,
    wish: PlanWish,
    best: Mapping[str, tuple[int, ...]],
) -> Iterator[Row]:
    """Plans across, a row each: where they come from, how the work is cut, formats, engine, load, figures."""
    known = [plan for plan in plans if plan is not None]
    learns = any(isinstance(plan.work, Training) for plan in known)
    pairs: tuple[tuple[Sentence, Callable[[Plan], Shown]], ...] = (
        (say("source"), words.supply),
        (say("layout"), words.workers),
        (say("method") if learns else say("weights"), words.formats),
        (say("engine"), words.engine),
        (say("step"), lambda plan: words.step(plan.work) if isinstance(plan.work, Training) else ""),
        (say("concurrency"), words.concurrency),
        (say("safe tok/s at concurrency"), words.safe),
    )
    yield from (across(plans, head, value=value) for head, value in pairs)
    heard = any(map(words.transcribes, known))
    for name, row in figure_rows(figures, wish, best=best):
        if not (heard and name in _OF_TOKENS):
            yield row


def table_across(heads: Iterable[str], rows: Iterable[Row], *, title: Sentence) -> Table:
    """Figures down, things across: it stays readable on a narrow screen; empty rows are left out."""
    return table(("", *map(prose, heads)), (row for row in rows if any(row[1:])), title=title)


def options_table(plans: Sequence[Plan], *, wish: PlanWish) -> Table:
    """The options of a plan with all that is known of each."""
    ends = any("days" in plan.figures for plan in plans)
    figures = [
        {name: figure for name, figure in plan.figures.items() if ends or name != "usd_total"}
        for plan in plans
    ]
    machines = [named.machine(plan) for plan in plans]
    many = len(plans) > 1
    rows = (
        *([(say("machine"), *machines)] if many else []),
        *rows_across(plans, figures, wish=wish, best={}),
        across(plans, say("limited by"), value=lambda plan: words.BOUNDS.get(plan.bound, plan.bound)),
        across(plans, say("based on"), value=words.basis),
        across(plans, say("price as of"), value=lambda plan: plan.supply.as_of or ""),
        across(plans, say("why"), value=lambda plan: with_commas(plan.reasons) or ""),
    )
    heads = [str(place) for place in range(1, len(plans) + 1)] if many else machines
    return table_across(heads, rows, title=say("options"))
