"""More money, memory, bandwidth or patience never makes a plan worse, by the search's own order of plans."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, log2

import numpy as np
import pytest
from drawn_questions import (
    BUDGETS,
    LARGE,
    MIDDLE,
    SMALL,
    THOROUGH,
    Asked,
    bounded,
    market,
    seeds,
    sold,
)

from rigright.base.errors import AskError
from rigright.choice.ways import loss_of, quality_class
from rigright.choice.work import work_of
from rigright.demand import PlanWish
from rigright.facts.nodes import Node
from rigright.options.read import read_wish
from rigright.search.choose import NEAR
from rigright.search.find import find
from rigright.search.first import DESK_CARDS, STEPS
from rigright.search.question import ask
from rigright.search.record import Plan, SearchResult
from rigright.search.serving import _picked, filled, searched
from rigright.search.why import excess_of
from rigright.verbs.plan import plan

pytestmark = pytest.mark.hypothesis
BOUGHT = 6 if THOROUGH else 1
LADDERS = 25 if THOROUGH else 2
HELD = 20 if THOROUGH else 3
TIMES = (1.1, 1.5, 2.0, 4.0)
MEMORY = ("mem_bytes", "mem_usable_bytes", "mem_program_bytes")
SPEED = ("mem_bytes_per_s",)


def merit(found: SearchResult, asked: Asked) -> tuple[float, ...]:
    """The first plan as `first.py` orders plans of a machine, least is best."""
    first, wish = found.plans[0], found.wish
    figures = {name: one.value for name, one in first.figures.items()}
    enough = 0.0 if wish.tpot_s is not None else work_of(wish.work, asked.arch).enough_tok_per_s
    answer = wish.output_tok or 1
    token_s = (figures["ttft_s"] + figures["tpot_s"] * (answer - 1)) / answer
    loss = loss_of(asked.arch, first.work.weights, kv=first.work.kv)
    return (
        any("nothing reaches" in str(note) for note in found.notes),
        -first.work.context_tok,
        quality_class(loss) + loss % 1,
        ceil(STEPS * log2(max(token_s * enough, 1.0))),
    )


def _columns(plan: Plan, asked: Asked) -> Iterator[float]:
    """What a row shows, as things to have less of."""
    figures = {name: one.value for name, one in plan.figures.items()}
    yield from (-figures["output_tok_per_s"], figures["tpot_s"], figures["ttft_s"], -plan.work.context_tok)
    yield loss_of(asked.arch, plan.work.weights, kv=plan.work.kv)
    yield -min(plan.certainty.values(), default=1.0)
    yield float(plan.figures["tpot_s"].mark == "physics")


def is_worse(many: SearchResult, few: SearchResult, asked: Asked) -> bool:
    """Whether the first plan for more money loses in what it shows and gains nothing; crowded desks aside."""
    after, before = (one.plans[0] for one in (many, few))
    homely = before.chip.segment != "datacenter" or before.chip.ended is not None
    pairs = [tuple(_columns(plan, asked)) for plan in (after, before)]
    gains = any(own < its for own, its in zip(*pairs, strict=True))
    return not gains and pairs[0][0] > pairs[1][0] / NEAR and not (homely and before.n_chips > DESK_CARDS)


def sure_cost(asked: Asked, *, load: bool) -> float | None:
    """What the first plan costs, with its doubts, quality and speed; of another `load`, doubts alone."""
    wish = filled(asked.arch, asked.wish, market=market())
    table, limits, comfort = searched(ask(asked.arch, wish, market=market(), stated=asked.wish))
    size = len(table.options.index)
    for tried in ((*limits, *comfort), limits):
        beyond = excess_of(tried, size)
        if size and (beyond <= 0).any():
            picked, field, _ = _picked(table, tried, beyond=beyond)
            merit = field.sure if load else field.sure * np.exp(field.lost)
            return float(merit.min() if load else merit[picked[0][1].place])
    return None


def both(asked: Asked, more: Asked, *, nodes: Sequence[Node | None] = (None, None)) -> list[SearchResult]:
    """What is found for the two."""
    pairs = zip((asked, more), nodes, strict=True)
    return [find(one.arch, one.wish, market=replace(market(), there=node)) for one, node in pairs]


@pytest.mark.parametrize("seed", seeds(4))
def test_more_money_buys_no_worse_plan(seed):
    dice, failed = random.Random(seed), {}  # noqa: S311 - a draw of budgets
    for asked in sold(BOUGHT, seed=seed):
        budget = dice.choice(BUDGETS)
        less = replace(asked, wish=replace(asked.wish, budget_usd=budget, buy=True))
        more = replace(asked, wish=replace(less.wish, budget_usd=budget * dice.choice(TIMES)))
        few, many = both(less, more)
        if few.plans and (not many.plans or is_worse(many, few, asked)):
            failed[str(less)] = more.wish.budget_usd
    assert not failed


@pytest.mark.parametrize("seed", seeds(4))
def test_no_step_of_a_ladder_of_budgets_is_worse(seed):
    """Who names no load, too: from the least money that buys anything, step by step."""
    dice, failed = random.Random(seed), {}  # noqa: S311 - a draw of ladders
    for _ in range(LADDERS):
        model = dice.choice(SMALL + MIDDLE + LARGE)
        asked = Asked(model=model, wish=PlanWish(buy=True, work=dice.choice(("auto", "chat", "serve"))))
        before: SearchResult | None = None
        for step in range(4):
            wish = replace(asked.wish, budget_usd=dice.choice((1500.0, 2500.0)) * TIMES[2] ** step)
            if before is not None and before.wish is not None:
                wish = replace(wish, budget_usd=max(wish.budget_usd, before.wish.budget_usd))
            after = find(asked.arch, wish, market=market(), alone=True)
            if before is not None and before.plans and _loses(after, before, asked):
                failed[f"{asked} {wish.budget_usd:g}"] = [
                    one.plans[0].supply.label for one in (before, after)
                ]
            before = after
    assert not failed


def _loses(after: SearchResult, before: SearchResult, asked: Asked) -> bool:
    """More money gives no plan, settles for more, or is worse in what it shows."""
    return not after.plans or after.level > before.level or is_worse(after, before, asked)


@pytest.mark.parametrize("seed", seeds(4))
def test_a_relaxed_limit_never_makes_a_plan_dearer(seed):
    dice, failed = random.Random(seed), {}  # noqa: S311 - a draw of limits
    for asked in sold(BOUGHT, seed=40 + seed):
        wish = asked.wish
        looser = {name: getattr(wish, name) * dice.choice(TIMES) for name in ("ttft_s", "tpot_s")
                  if getattr(wish, name) is not None}  # fmt: skip
        looser |= {} if wish.users is None else {"users": max(wish.users // 2, 1)}
        looser |= {} if wish.rate_per_s is None else {"rate_per_s": wish.rate_per_s / 2}
        name = dice.choice(sorted(looser))
        load = name in {"users", "rate_per_s"}
        tight = sure_cost(asked, load=load)
        loose = sure_cost(replace(asked, wish=replace(wish, **{name: looser[name]})), load=load)
        if tight is not None and (loose is None or loose > tight * NEAR):
            failed[str(asked)] = (name, looser[name], tight, loose)
    assert not failed


def grown(node: Node, names: tuple[str, ...], *, times: float) -> Node:
    """The machine with more of something on every card."""
    cards = []
    for card in node.cards:
        told = {name: getattr(card.chip, name) for name in names}
        chip = replace(card.chip, **{name: size * times for name, size in told.items() if size is not None})
        total = card.total_bytes * (times if names is MEMORY else 1.0)
        cards.append(replace(card, chip=chip, total_bytes=total))
    return replace(node, cards=tuple(cards))


@pytest.mark.parametrize("names", [MEMORY, SPEED])
@pytest.mark.parametrize("seed", seeds(3))
def test_more_memory_or_bandwidth_is_no_worse(names, seed):
    dice, failed = random.Random(seed), {}  # noqa: S311 - a draw of cards
    for asked in bounded(HELD, seed=200 + seed):
        if asked.node.is_mixed:  # layers are dealt anew: a fuller card may be the slower one
            continue
        times = dice.choice(TIMES)
        try:
            few, many = both(asked, asked, nodes=(asked.node, grown(asked.node, names, times=times)))
        except AskError:
            continue  # weights that do not run there
        if not few.plans:
            continue
        if not many.plans or merit(many, asked) > merit(few, asked):
            failed[str(asked)] = (names[0], times)
            continue
        output = [found.plans[0].figures["output_tok_per_s"].value for found in (few, many)]
        if merit(many, asked) == merit(few, asked) and output[0] > output[1] * NEAR:
            failed[str(asked)] = (names[0], times, output)
    assert not failed


def test_a_safe_load_is_no_more_than_the_load_of_its_plan():
    said = {"on": "h100 nvl", "mode": "batch", "prompt": "200", "output": "300", "tpot": "100ms"}
    plans = plan("MiniMaxAI/MiniMax-M2", wish=read_wish(said)).result.plans
    safe = [(one.safe, one) for one in plans if one.safe is not None]
    assert safe
    for found, one in safe:
        assert found.concurrency <= one.concurrency
        assert found.output_tok_per_s <= one.figures["output_tok_per_s"].value * (1 + 1e-9)
