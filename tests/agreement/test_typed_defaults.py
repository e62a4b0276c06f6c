"""What nobody said and the page says it assumed: typed, it changes no figure, no band and no verdict."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from drawn_questions import THOROUGH, market, seeds

from rigright.arch.sources.open import open_model
from rigright.choice.work import traffic_of
from rigright.demand import PlanWish
from rigright.search.find import find
from rigright.search.question import ask
from rigright.search.serving import filled

COUNT = 30 if THOROUGH else 3
MODELS = ("mistral-nemo", "qwen3-4b", "phi-4", "olmo-2-13b", "deepseek-v2-lite", "gemma-3-12b-it")
MACHINES = ("rtx 5090", "4x a6000", "8x l40s", "8x mi300x", "2x dgx spark", "a10g", "m3 ultra 512gb", None)
SAID = ("context_tok", "prompt_tok", "output_tok", "users", "cached_share")
FOUND = ("engines", "weights", "kv")


def first(model, wish):
    """All that is said of the plan that comes first; what a limit that was typed adds is no figure of it."""
    plan = find(open_model(model), wish, market=market()).plans[0]
    return plan.layout, plan.work, plan.n_chips, plan.chip.id, plan.concurrency, plan.figures, plan.safe


def drawn(dice):
    """A question of serving, by the kind of its work."""
    said = dice.choice(({"users": 20.0}, {"rate_per_s": 0.5}, {}))
    return dice.choice(MODELS), PlanWish(
        on=dice.choice(MACHINES), work=dice.choice(("auto", "serve", "chat", "rag", "agent", "batch")), **said
    )


def typed(model, wish):
    """The same question with one thing more that was assumed or chosen."""
    arch = open_model(model)
    whole = filled(arch, wish, market=market())
    yield "work", replace(wish, work=whole.work)
    found = find(arch, wish, market=market())
    plan = found.plans[0]
    shorter = plan.work.context_tok != whole.context_tok  # than usual: memory is short
    for name in SAID[shorter:]:
        yield name, replace(wish, **{name: getattr(whole, name)})
    wanted = ask(arch, whole, market=market(), stated=wish).comfort_s
    if "ttft_s" in wanted and not any("nothing reaches" in str(note) for note in found.notes):
        yield "ttft_s", replace(wish, ttft_s=wanted["ttft_s"])
    yield "growth", replace(wish, growth=1.0)
    if not shorter:
        for name, value in zip(FOUND, (plan.work.engine, plan.work.weights, plan.work.kv), strict=True):
            yield name, replace(wish, **{name: (value,)})


@pytest.mark.parametrize("seed", seeds(6))
def test_what_was_assumed_may_be_typed(seed):
    dice, different, compared = random.Random(f"typed {seed}"), [], 0  # noqa: S311 - a draw of questions
    for _ in range(COUNT):
        model, wish = drawn(dice)
        if not find(open_model(model), wish, market=market()).plans:
            continue
        plain = first(model, wish)
        for name, again in typed(model, wish):
            compared += 1
            if first(model, again) != plain:
                different.append((model, wish.on, wish.work, name))
    assert different == []
    assert compared > COUNT


def test_no_cached_prompt_can_be_said_where_some_are_usual():
    wish = PlanWish(on="rtx 5090", work="agent")
    arch = open_model("qwen3-4b")
    usual, none = (filled(arch, each, market=market()) for each in (wish, replace(wish, cached_share=0.0)))
    assert traffic_of(usual, 1).cached_tok > usual.prompt_tok / 2
    assert traffic_of(none, 1).cached_tok == 0
