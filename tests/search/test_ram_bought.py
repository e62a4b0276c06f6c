"""Cards are bought with main memory where a model is too large for the money that cards alone cost."""

from __future__ import annotations

import pytest

from rigright.arch.sources.open import open_model
from rigright.base.errors import RigError
from rigright.choice.ways import NO_LOSS, USUAL_LOSS, loss_of, quality_class
from rigright.demand import PlanWish
from rigright.facts.host_words import ram_hosts
from rigright.search.figures import limits_of
from rigright.search.question import ask
from rigright.search.serving import filled, tabled
from rigright.search.supply import in_reach
from rigright.search.why import excess_of
from rigright.verbs.own import today
from rigright.verbs.plan import market_of, plan


@pytest.fixture(scope="module")
def cheap():
    return plan("gpt-oss-120b", wish=PlanWish(budget_usd=3000)).result


def test_experts_lie_in_memory_that_is_bought_with_the_card(cheap):
    """Within the budget, for one user, and said so; every host is one of the table."""
    assert cheap.plans
    for one in cheap.plans:
        assert one.host in ram_hosts()
        assert one.work.offload is not None
        assert one.figures["usd"].value <= 3000
    assert any("one user" in str(note) for note in cheap.notes)


def test_the_same_machine_by_its_name_has_the_same_speed_and_price(cheap):
    first = cheap.plans[0]
    named = f"{first.chip.name} + {first.host.said}"
    fields = {"users": 1, "prompt_tok": 1024, "output_tok": 256, "context_tok": first.work.context_tok}
    again = plan("gpt-oss-120b", wish=PlanWish(on=named, work="serve", **fields)).result.plans[0]
    for name in ("output_tok_per_s", "usd"):
        assert again.figures[name].value == pytest.approx(first.figures[name].value), name


def test_more_money_is_no_slower():
    rates = [
        plan("gpt-oss-120b", wish=PlanWish(budget_usd=budget))
        .result.plans[0]
        .figures["output_tok_per_s"]
        .value
        for budget in (1600, 2500, 5000)
    ]
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("model", "budget"),
    [
        ("zai-org/GLM-4.5-Air", 2500),
        ("MiniMaxAI/MiniMax-M2", 6000),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 1500),
    ],
)
def test_other_models_of_experts_are_bought_memory_too(model, budget):
    first = plan(model, wish=PlanWish(budget_usd=budget)).result.plans[0]
    assert first.host is not None
    assert first.work.offload.experts > 0
    assert first.figures["usd"].value <= budget


@pytest.mark.parametrize(
    ("model", "budget"), [("llama-3.3-70b", 3000), ("deepseek-v3", 30000), ("qwen3-32b", 2000)]
)
def test_fewer_users_come_before_fewer_than_four_bits(model, budget):
    """Where nobody says how many they are; the note says so, and the load that was said is kept."""
    shown = plan(model, wish=PlanWish(budget_usd=budget)).result
    assert shown.plans[0].concurrency == 1
    assert quality_class(loss_of(open_model(model), shown.plans[0].work.weights)) <= USUAL_LOSS - NO_LOSS
    assert any("one user" in str(note) for note in shown.notes)
    many = plan(model, wish=PlanWish(budget_usd=budget, users=8)).result
    assert (many.plans or [many.nearest])[0].concurrency == 8


@pytest.mark.parametrize(("budget", "users"), [(1500, None), (3000, 1.0), (12000, 20.0)])
def test_without_a_model_the_best_ones_for_the_money_are_planned(budget, users):
    shown = plan(wish=PlanWish(budget_usd=budget, users=users))
    paid = [one for one in shown.models if not one.is_more]
    assert shown.model == paid[0].model
    assert shown.first.figures["usd"].value <= budget
    assert [one.usefulness for one in paid] == sorted((one.usefulness for one in paid), reverse=True)
    for one in paid:
        again = plan(one.model, wish=PlanWish(budget_usd=budget, users=users)).plans[0]
        assert (again.chip, again.work, again.figures) == (one.plan.chip, one.plan.work, one.plan.figures)
    for one in shown.models[len(paid) :]:
        assert one.plan.figures["usd"].value > budget


def test_money_that_buys_nothing_says_so():
    for wish in (PlanWish(budget_usd=200), PlanWish(), PlanWish(on="4090", budget_usd=9000)):
        with pytest.raises(RigError) as error:
            plan(wish=wish)
        assert "rigright" in error.value.__notes__[0]


def test_what_a_budget_cannot_pay_is_not_scored():
    """And nothing that it can pay is left out."""
    arch = open_model("qwen3-32b")
    market = market_of(PlanWish(), day=today())
    wish = filled(arch, PlanWish(budget_usd=4000.0), market=market)
    question = ask(arch, wish, market=market)
    every, kept = tabled(question), tabled(in_reach(question))
    paid = [
        int((excess_of(limits_of(one.question, one.figures), len(one.options.index)) <= 0).sum())
        for one in (every, kept)
    ]
    assert paid[0] == paid[1] > 0
    assert len(kept.options.index) < len(every.options.index) / 2


def test_who_serves_many_buys_no_memory():
    shown = plan("gpt-oss-120b", wish=PlanWish(budget_usd=3000, users=8)).result
    assert not shown.plans
    assert shown.nearest.host is None


def test_what_is_nearest_may_have_bought_memory():
    shown = plan("gpt-oss-120b", wish=PlanWish(budget_usd=900)).result
    assert not shown.plans
    assert shown.nearest.host is not None
    assert shown.broken[0].nearest < 2000
