"""No row of a plan is beaten by what the program answers when that is asked: other cards, counts, formats."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from drawn_questions import THOROUGH, Asked, market, seeds, sold

from rigright.base.errors import AskError
from rigright.choice.ways import loss_of
from rigright.demand import PlanWish
from rigright.facts.chips import chips
from rigright.search.choose import NEAR
from rigright.search.find import find
from rigright.search.record import Plan

pytestmark = pytest.mark.hypothesis
QUESTIONS, CARDS = (10, 6) if THOROUGH else (1, 1)
FORMATS = ("bf16", "fp8", "nvfp4", "awq4", "int8", "Q8_0", "Q6_K", "Q4_K_M")
CHEAPER = ("cheapest that meets every limit", "cheaper", "lowest hourly cost")


def shown(plan: Plan, asked: Asked) -> dict[str, float]:
    """What a row shows, as things to have less of."""
    figures = {name: one.value for name, one in plan.figures.items()}
    return {
        "cost": figures.get("usd_per_h", float("inf")) / NEAR,
        "usd": figures.get("usd", 0.0) if plan.supply.how == "buy" else 0.0,
        "time": 1 / figures["output_tok_per_s"],
        "ttft": figures.get("ttft_s", float("inf")),
        "tpot": figures.get("tpot_s", float("inf")),
        "loss": loss_of(asked.arch, plan.work.weights, kv=plan.work.kv),
        "doubt": 1 - min(plan.certainty.values(), default=1.0),
        "unproven": float(plan.figures["tpot_s"].mark == "physics"),
        "context": -plan.work.context_tok,
    }


def beats(other: Plan, plan: Plan, asked: Asked) -> bool:
    """Whether it is no worse in any column, and better by more than a little in one that people ask for."""
    own, its = shown(other, asked), shown(plan, asked)
    no_worse = all(own[name] <= its[name] * (NEAR if name in {"cost", "usd"} else 1.0) for name in own)
    return no_worse and any(own[name] * NEAR * NEAR < its[name] for name in ("cost", "time", "loss"))


def asked_directly(plan: Plan, wish: PlanWish, dice: random.Random) -> Iterator[PlanWish]:
    """The same question about other counts and formats of its card, and about other cards."""
    own = replace(wish, chips=(plan.chip.id,))
    for count in {plan.n_chips, plan.n_chips + 1, max(plan.n_chips - 1, 1), 2 * plan.n_chips}:
        yield replace(own, most_chips=count)
    if wish.users is None and plan.concurrency is not None:  # a free load is as high as is best
        yield replace(
            own, users=max(plan.concurrency * dice.choice((0.5, 0.8, 0.9, 1.1, 1.25, 2.0)) // 1, 1.0)
        )
    for form in dice.sample(FORMATS, 3):
        yield replace(own, weights=(form,))
        yield replace(wish, weights=(form,))
    for chip in dice.sample([one.id for one in chips() if one.offered], CARDS):
        yield replace(wish, chips=(chip,))


@pytest.mark.parametrize("seed", seeds(4))
def test_no_row_is_beaten_by_what_is_answered_when_asked(seed):
    dice, failed = random.Random(seed), []  # noqa: S311 - a draw of neighbours
    for asked in sold(QUESTIONS, seed=600 + seed):
        found = find(asked.arch, asked.wish, market=market(), alone=True)
        if not found.plans or found.wish is None:
            continue
        for plan in found.plans[: None if THOROUGH else 1]:
            assert plan.reasons
            for wish in asked_directly(plan, replace(found.wish, work=found.wish.work), dice):
                try:
                    others = find(asked.arch, wish, market=market(), alone=True).plans
                except AskError:
                    continue
                same = [one for one in others if one.work.engine == plan.work.engine]
                failed += [
                    (str(asked), plan.supply.label, one.supply.label)
                    for one in same
                    if beats(one, plan, asked)
                ]
    assert not failed


@pytest.mark.parametrize("seed", seeds(4))
def test_a_printed_reason_is_true_of_the_rows(seed):
    for asked in sold(QUESTIONS, seed=700 + seed):
        plans = find(asked.arch, asked.wish, market=market(), alone=True).plans
        rows = [shown(plan, asked) for plan in plans]
        for plan, own in zip(plans, rows, strict=True):
            for said in map(str, plan.reasons):
                if said.startswith(CHEAPER[1]):
                    assert own["cost"] < rows[0]["cost"] or own["usd"] < rows[0]["usd"], said
                if said == CHEAPER[0] and asked.wish.users is not None:
                    assert own["cost"] <= min(row["cost"] for row in rows) * NEAR, said
                if said == "best quality":
                    assert own["loss"] == min(row["loss"] for row in rows)
                if said == "highest throughput":
                    assert own["time"] == min(row["time"] for row in rows)
