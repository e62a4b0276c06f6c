"""Requests that end: how long they take and what they come to, the same through every door."""

from __future__ import annotations

import pytest

import rigright
from rigright.money.tariff import SECONDS_PER_H

MODEL, REQUESTS = "meta-llama/Llama-3.1-8B", 200_000


def plan(**wish):
    return rigright.plan(MODEL, requests=REQUESTS, **wish)


def test_a_job_takes_its_tokens_at_its_rate_and_costs_its_hours():
    planned = plan(rent=True)
    assert planned.wish.work == "batch"
    for each in planned.plans:
        figures = each.figures
        hours = figures["days"].value * 24
        tokens = REQUESTS * planned.wish.output_tok
        assert figures["output_tok_per_s"].value * hours * SECONDS_PER_H == pytest.approx(tokens, rel=1e-6)
        assert figures["usd_total"].value == pytest.approx(figures["usd_per_h"].value * max(hours, 1.0))
        assert figures["days"].low < figures["days"].value < figures["days"].high


def test_a_deadline_is_kept_and_an_earlier_one_is_never_cheaper():
    totals = []
    for days in (4, 1, 0.25, 0.1):
        first = plan(days=days).plans[0]
        assert first.figures["days"].value <= days
        totals.append(first.figures["usd_total"].value)
    assert totals == sorted(totals)


def test_explain_says_what_plan_says():
    first = plan(on="1x h100", rent=True).plans[0]
    explained = rigright.explain(
        MODEL, on="1x h100", requests=REQUESTS, weights=first.work.weights, rent=True
    )
    assert explained.days.value == pytest.approx(first.figures["days"].value, rel=1e-6)
    assert explained.figures["usd_total"].value == pytest.approx(first.figures["usd_total"].value, rel=1e-6)


def test_a_deadline_needs_an_amount():
    with pytest.raises(rigright.AskError) as refused:
        rigright.plan(MODEL, days=3)
    assert "--requests" in str(refused.value.hint)


def test_each_thing_that_is_compared_does_the_same_job():
    compared = rigright.compare("rtx 4090", "rtx 5090", model=MODEL, requests=REQUESTS)
    for contender in compared.contenders:
        rate = contender.figures["output_tok_per_s"].value
        assert contender.plan.concurrency > 8, "nobody waits"
        tokens = rate * contender.figures["days"].value * 24 * SECONDS_PER_H
        assert tokens == pytest.approx(REQUESTS * 256, rel=1e-6)
