"""Prompts on some cards and next tokens on others: taken where that keeps limits that replicas do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.arch.sources.open import open_model
from rigright.cost.speed.apart import serve_apart
from rigright.cost.speed.service import Limits
from rigright.demand import Layout, PlanWish, ServingWish, Traffic
from rigright.facts.engines import find_engine
from rigright.facts.find import find_chip
from rigright.report.pages import plan_next, plan_words
from rigright.search import named
from rigright.search.question import ask
from rigright.search.score import score
from rigright.search.serving import filled, find_serving, wider
from rigright.terms.speed import rates_of, work_of
from rigright.verbs.planning.planned import Planned, row_of
from rigright.verbs.simulate.setup import PlayWish
from rigright.verbs.simulate.verb import simulate
from spoken import values

TIGHT = {"on": "8x h100", "prompt_tok": 2048, "output_tok": 512, "ttft_s": 2.0, "tpot_s": 0.0155, "users": 64}


def scored_of(arch, wish, *, market):
    question = wider(ask(arch, filled(arch, wish, market=market), market=market))
    return question, score(question)


@pytest.fixture(scope="module")
def tight(llama70, market):
    return find_serving(llama70, PlanWish(**TIGHT), market=market)


def test_tokens_that_may_not_wait_get_cards_of_their_own(tight):
    first = tight.plans[0]
    assert first.prefill is not None
    pools = [layout.tp * layout.pp * layout.dp for layout in (first.prefill, first.layout)]
    assert sum(pools) == first.n_chips == 8
    assert first.figures["ttft_s"].value <= 2
    assert first.figures["tpot_s"].value <= 0.0155
    told = values(plan_words.workers(first))
    assert told == {"prefill": named.pool(first.prefill), "decode": named.pool(first.layout)}
    assert first.layout.dp == 1
    assert len(first.notes) > 0


def test_few_runs_mean_a_wider_band(tight, llama70, market):
    plain = find_serving(llama70, PlanWish(on="8x h100", users=1), market=market).plans[0]
    apart = tight.plans[0]
    assert plain.prefill is None
    width = [one.figures["ttft_s"].high / one.figures["ttft_s"].low for one in (plain, apart)]
    assert width[1] > width[0]


def test_the_plan_is_told_in_json_and_commands(tight):
    plan = tight.plans[0]
    told = named.plan_told(plan, "en")
    assert told["prefill"]["tp"] == plan.prefill.tp
    assert told["prefill"]["dp"] == plan.prefill.dp
    assert row_of(plan)["prefill"] == named.pool(plan.prefill)
    result = Planned(
        model="m", params=1, active_params=1, licence=None, wish=PlanWish(**TIGHT), result=tight,
        today="2026-11-21", model_asked="llama-3.1-70b",
    )  # fmt: skip
    commands = [line for line in plan_next.next_commands(result, plan) if " explain " in line]
    chips = [layout.tp * layout.dp for layout in (plan.layout, plan.prefill)]
    assert [f"'{count}x " in line for count, line in zip(chips, commands, strict=True)] == [True, True]


def test_alike_workers_can_be_played(tight):
    """A simulation takes workers for prompts that are cut as those for tokens are, so many for each."""
    plan = tight.plans[0]
    result = Planned(
        model="m", params=1, active_params=1, licence=None, wish=PlanWish(**TIGHT), result=tight,
        today="2026-11-21", model_asked="llama-3.1-70b",
    )  # fmt: skip
    for prompts, tokens, flag in (((2, 3), (2, 1), "--prefill-workers 3"), ((2, 1), (4, 1), None)):
        pools = [Layout(tp=tp, dp=dp) for tp, dp in (prompts, tokens)]
        one = replace(plan, prefill=pools[0], layout=pools[1], n_chips=sum(p.tp * p.dp for p in pools))
        played = [line for line in plan_next.next_commands(result, one) if " simulate " in line]
        assert len(played) == (flag is not None)
        assert flag is None or flag in played[0]


def test_one_user_parts_nothing(llama70, market):
    _, found = scored_of(llama70, PlanWish(on="8x h100", users=1), market=market)
    assert not found.points.prefill_dp.any()


@pytest.mark.parametrize("machine", ["8x rtx 4090", "1x h100"])
def test_only_where_engines_do_it(llama8, market, machine):
    _, found = scored_of(llama8, PlanWish(on=machine, users=32), market=market)
    assert not found.points.prefill_dp.any()
    assert len(found.points)


@given(
    users=st.sampled_from([None, 16, 100]),
    prompt=st.sampled_from([500, 4000]),
    machine=st.sampled_from(["8x h100", "6x a100 80gb", "2 nodes of 8x mi300x"]),
)
@few
def test_pools_are_whole_workers_near_the_match(llama8, market, users, prompt, machine):
    wish = PlanWish(on=machine, users=users, prompt_tok=prompt, output_tok=200)
    question, found = scored_of(llama8, wish, market=market)
    points = found.points.take(np.flatnonzero(found.points.prefill_dp > 0))
    assert len(points)
    assert (points.dp >= 1).all()
    kinds = [question.kinds[int(kind)] for kind in points.kind]
    for n_chips, kind in zip(points.n_chips, kinds, strict=True):
        assert int(n_chips) in kind.counts
    assert (points.replica == points.n_chips).all()


@pytest.mark.parametrize("tpot", [None, 0.04])
def test_who_keeps_the_limits_with_usual_replicas_gets_them(llama8, market, tpot):
    wish = PlanWish(on="8x h100", prompt_tok=4000, output_tok=400, tpot_s=tpot, engines=("vllm",))
    found = find_serving(llama8, wish, market=market)
    assert found.plans
    assert all(plan.prefill is None for plan in found.plans)


def apart_of(*, tpd=(2, 2, 2, 1), **traffic):
    arch, engine = open_model("llama-3.1-70b"), find_engine("vllm")
    asked = {"prompt_tok": 2000, "output_tok": 300} | traffic
    return serve_apart(
        work_of(arch, weights="fp8", kv="fp8"),
        rates_of([find_chip("h100")], engine, weights="fp8"),
        prefill=Layout(tp=tpd[0], dp=tpd[1]),
        layout=Layout(tp=tpd[2], dp=tpd[3]),
        traffic=Traffic(**asked),
        limits=Limits(pool_tok=400_000, max_seqs=256, budget_tok=8192),
    )


@given(rates=st.tuples(st.floats(0.01, 30), st.floats(1.01, 4)))
def test_more_that_arrives_never_waits_less(rates):
    less, more = (apart_of(rate_per_s=rate) for rate in (rates[0], rates[0] * rates[1]))
    for name in ("ttft_s", "ttft_p50_s", "ttft_p95_s", "ttft_p99_s", "tpot_s", "busy"):
        assert getattr(less, name)[0] <= getattr(more, name)[0] * (1 + 1e-9), name
    assert less.requests_per_s[0] <= rates[0]


@given(rate=st.floats(0.01, 30))
def test_what_arrives_is_served_or_queues_for_ever(rate):
    found = apart_of(rate_per_s=rate)
    if found.busy[0] < 1:
        assert found.requests_per_s[0] == pytest.approx(rate)
        assert found.ttft_p50_s[0] <= found.ttft_p95_s[0] <= found.ttft_p99_s[0] < np.inf
    else:
        assert found.ttft_s[0] == np.inf
        assert found.requests_per_s[0] <= rate


@given(load=st.integers(1, 400))
def test_percentiles_stand_in_order_around_the_mean(load):
    found = apart_of(concurrency=load)
    shares = [float(getattr(found, f"ttft_p{share}_s")[0]) for share in (50, 95, 99)]
    assert shares == sorted(shares)
    assert shares[0] <= found.ttft_s[0] <= shares[2] * (1 + 1e-9)
    parts = ("memory_share", "compute_share", "link_share", "fixed_share")
    assert sum(float(getattr(found, name)[0]) for name in parts) == pytest.approx(1)


def test_a_cache_that_leaves_the_box_takes_longer():
    """Two workers of one box hand over by its own links; nine boxes' worth go over the network."""
    near, far = (apart_of(concurrency=8, tpd=(2, count, 2, count)).handed_s[0] for count in (1, 18))
    assert far > 2 * near


@pytest.mark.parametrize("rate", [2, 5, 8])
def test_what_arrives_at_a_rate_goes_as_a_played_load_does(rate):
    """Three workers for prompts beside one for tokens: the closed form against request by request.

    A load that asks again the moment it is answered stays bunched there, so only open loads are held to it.
    """
    played = simulate(
        "llama-3.1-70b",
        "2x h100",
        wish=ServingWish(engine="vllm", weights="fp8", kv="fp8", tp=2),
        load=PlayWish(prefill_workers=3, prompt_tok=2000, output_tok=300, rate_per_s=rate, requests=600),
    )
    told = apart_of(tpd=(2, 3, 2, 1), rate_per_s=rate)
    assert told.tpot_s[0] == pytest.approx(played.tpot_s.value, rel=0.1)
    assert told.ttft_s[0] == pytest.approx(played.ttft_s.value, rel=0.25)
