"""Plans side by side: one a row on one screen, or figures down and plans across."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rigright.base.page import Heading, Shown, Table, number, prose, table
from rigright.base.words import Sentence, say, with_commas
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
    texts: tuple[tuple[Heading, Callable[[Plan], Shown]], ...] = (
        (prose(say("machine")), words.source),
        (say("format"), words.formats),
        (number(say("concurrency")), words.concurrency),
    )
    columns: list[tuple[Heading, list[Shown]]] = [("", list(things))] if things else []
    for place, (column, read) in enumerate(texts):
        sentences = [read(plan) for plan in plans]
        columns += (
            [(column, sentences)]
            if len(set(sentences)) > 1 or (compared and not place and not things)
            else []
        )
    power = compared or alone or wish.power_w is not None or wish.aim == "power"
    heard = any(words.transcribes(plan) for plan in plans)
    for name in COLUMNS:
        if heard and name in _OF_TOKENS:
            continue
        figure = FIGURES[name]
        cells: list[Shown] = [
            figure.cell(words.estimate(plan, name), wish.currency, how=plan.supply.how) for plan in plans
        ]
        in_answer = not compared and name in _IN_ANSWER and len(set(cells)) == 1
        if any(cells) and not in_answer and (power or name != "power_w"):
            head = figure.titled(currency=wish.currency, percentile=wish.percentile)
            columns.append((number(head), cells))
        certain: list[Shown] = [words.certain(plan) for plan in plans] if name == "tpot_s" else []
        if len(set(certain)) > 1:
            columns.append((number(say("certain")), certain))
        surely = [words.safe(plan) for plan in plans] if name == "output_tok_per_s" else []
        if any(surely) and (not alone or compared):
            columns.append((number(say("safe")), surely))
    why = [words.why(plan) for plan in plans]
    if not alone and not compared and any(why):
        columns.append((prose(say("why")), why))
    return table((column for column, _ in columns), zip(*(cells for _, cells in columns), strict=True))


def across(plans: Iterable[Plan | None], head: Sentence, *, value: Callable[[Plan], Shown]) -> Row:
    """A row with a cell a plan; an empty one of what has none."""
    return (head, *("" if plan is None else value(plan) for plan in plans))


def plan_rows(plans: Sequence[Plan | None]) -> Iterator[Row]:
    """What plans are, a row each: where they come from, how the work is cut, formats, engine."""
    learns = any(plan is not None and isinstance(plan.work, Training) for plan in plans)
    yield across(plans, say("source"), value=words.supply)
    yield across(plans, say("layout"), value=words.workers)
    yield across(plans, say("method") if learns else say("weights"), value=words.formats)
    yield across(plans, say("engine"), value=words.engine)


def options_table(plans: Sequence[Plan], *, wish: PlanWish) -> Table:
    """Figures down, plans across: it stays readable on a narrow screen."""
    rows = [*plan_rows(plans)]
    more: tuple[tuple[Sentence, Callable[[Plan], Shown]], ...] = (
        (say("step"), lambda plan: words.step(plan.work) if isinstance(plan.work, Training) else ""),
        (say("concurrency"), words.concurrency),
        (say("safe tok/s at concurrency"), words.safe),
    )
    rows += _filled(plans, more)
    heard, ends = any(map(words.transcribes, plans)), any("days" in plan.figures for plan in plans)
    for name, row in figure_rows([plan.figures for plan in plans], wish, best={}):
        if not (heard and name in _OF_TOKENS) and (ends or name != "usd_total"):
            rows.append(row)
    rows.append(across(plans, say("limited by"), value=lambda plan: words.BOUNDS.get(plan.bound, plan.bound)))
    rows.append(across(plans, say("based on"), value=words.basis))
    last: tuple[tuple[Sentence, Callable[[Plan], Shown]], ...] = (
        (say("price as of"), lambda plan: plan.supply.as_of or ""),
        (say("why"), lambda plan: with_commas(plan.reasons) or ""),
    )
    rows += _filled(plans, last)
    heads = [named.machine(plan) for plan in plans]
    if len(plans) > 1:
        rows.insert(0, (say("machine"), *heads))
        heads = [str(place) for place in range(1, len(plans) + 1)]
    return table(("", *map(prose, heads)), rows, title=say("options"))


def _filled(
    plans: Sequence[Plan], pairs: Iterable[tuple[Sentence, Callable[[Plan], Shown]]]
) -> Iterator[Row]:
    """Rows that have something to say of one of them."""
    rows = (across(plans, head, value=value) for head, value in pairs)
    return (row for row in rows if any(row[1:]))
