"""Cards are bought with main memory where a model is too large for the money that cards alone cost."""

from __future__ import annotations

import pytest

from rigright.demand import PlanWish
from rigright.facts.host_words import ram_hosts
from rigright.verbs.plan import plan


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


def test_who_serves_many_buys_no_memory():
    shown = plan("gpt-oss-120b", wish=PlanWish(budget_usd=3000, users=8)).result
    assert not shown.plans
    assert shown.nearest.host is None


def test_what_is_nearest_may_have_bought_memory():
    shown = plan("gpt-oss-120b", wish=PlanWish(budget_usd=900)).result
    assert not shown.plans
    assert shown.nearest.host is not None
    assert shown.broken[0].nearest < 2000
