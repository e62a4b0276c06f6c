"""Service in steady state, as laws: Little's, capacity, queues, and how loads of all kinds agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources import zoo
from rigright.cost.speed.apart import serve_apart
from rigright.cost.speed.service import Limits, serve
from rigright.demand import Layout, Traffic
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.terms.speed import rates_of, work_of

LLAMA = zoo.arch("meta-llama/Llama-3.1-70B")
CHIP = find_node("h100 sxm").cards[0].chip
ROOMY = Limits(pool_tok=1e9, max_seqs=4096, budget_tok=8192)

engines = st.sampled_from(("vllm", "sglang", "trtllm"))
prompts = st.integers(1, 20_000)
outputs = st.integers(1, 8192)
loads = st.integers(1, 1024)


def service(engine="vllm", prompt=1000, output=500, limits=ROOMY, layout=None, **traffic):
    work = work_of(LLAMA, weights="fp8", kv="fp8")
    rates = rates_of([CHIP], find_engine(engine), weights="fp8")
    return serve(
        work,
        rates,
        layout=layout or Layout(tp=8),
        traffic=Traffic(prompt_tok=prompt, output_tok=output, **traffic),
        limits=limits,
    )


def one(value):
    return float(np.ravel(value)[0])


@given(engines, prompts, outputs, loads)
def test_requests_in_flight_are_their_rate_times_their_time(engine, prompt, output, load):
    """Little's law."""
    found = service(engine, prompt, output, concurrency=load)
    lives = one(found.ttft_s) + (output - 1) * one(found.tpot_s)
    assert one(found.requests_per_s) * lives == pytest.approx(load, rel=1e-6)


@given(engines, prompts, outputs, loads, st.integers(1, 512))
def test_more_users_wait_longer_and_get_more_done(engine, prompt, output, load, more):
    few, many = (service(engine, prompt, output, concurrency=count) for count in (load, load + more))
    assert one(many.tpot_s) >= one(few.tpot_s) * 0.999
    assert one(many.ttft_s) >= one(few.ttft_s) * 0.999


@given(engines, prompts, outputs, loads)
def test_percentiles_stand_in_their_order(engine, prompt, output, load):
    for found in (
        service(engine, prompt, output, concurrency=load),
        service(engine, prompt, output, rate_per_s=load / 100),
    ):
        ordered = [one(value) for value in (found.ttft_p50_s, found.ttft_p95_s, found.ttft_p99_s)]
        assert ordered == sorted(ordered)
        assert one(found.tpot_p95_s) >= one(found.tpot_s) > 0


@given(engines, prompts, outputs, loads)
def test_tokens_are_counted_once(engine, prompt, output, load):
    found = service(engine, prompt, output, concurrency=load)
    per_s = one(found.requests_per_s)
    assert one(found.output_tok_per_s) == pytest.approx(per_s * output)
    shares = (found.memory_share, found.compute_share, found.link_share, found.fixed_share)
    assert sum(map(one, shares)) == pytest.approx(1)


@given(engines, st.integers(1, 64))
def test_two_replicas_do_the_work_of_two(engine, load):
    alone = service(engine, concurrency=load)
    both = service(engine, concurrency=2 * load, layout=Layout(tp=8, dp=2))
    assert one(both.requests_per_s) == pytest.approx(2 * one(alone.requests_per_s))
    assert one(both.tpot_s) == pytest.approx(one(alone.tpot_s))


@given(engines, st.integers(64, 512))
def test_a_small_cache_makes_requests_wait_and_decoding_quick(engine, load):
    """What has no room waits outside: those inside are few, and faster."""
    small = Limits(pool_tok=20_000, max_seqs=4096, budget_tok=8192)
    crowded, roomy = (service(engine, concurrency=load, limits=limits) for limits in (small, ROOMY))
    assert one(crowded.running) * 1000 <= 20_000
    assert one(crowded.tpot_s) < one(roomy.tpot_s)
    assert one(crowded.ttft_s) > one(roomy.ttft_s)
    assert one(crowded.requests_per_s) < one(roomy.requests_per_s)


def test_an_open_load_waits_without_end_once_it_is_more_than_is_done():
    capacity = one(service().requests_per_s)  # as much as fits
    assert np.isfinite(one(service(rate_per_s=capacity / 2).ttft_s))
    beyond = service(rate_per_s=capacity * 3)
    assert one(beyond.busy) > 1
    assert np.isinf(one(beyond.ttft_s))


@given(st.floats(0.01, 0.98))
def test_open_and_closed_loads_of_one_rate_agree_on_the_next_token(share):
    small = Limits(pool_tok=1e9, max_seqs=256, budget_tok=8192)
    capacity = one(service(limits=small, concurrency=256).requests_per_s)
    opened = service(limits=small, rate_per_s=share * capacity)
    closed = service(limits=small, concurrency=max(one(opened.running), 1))
    assert one(opened.tpot_s) == pytest.approx(one(closed.tpot_s), rel=0.05)


def test_found_prefixes_save_the_time_of_prompts():
    fresh, cached = (service(prompt=8000, concurrency=64, cached_tok=tok) for tok in (0, 7000))
    assert one(cached.ttft_s) < 0.6 * one(fresh.ttft_s)
    assert one(cached.tpot_s) < one(fresh.tpot_s)


def test_drafts_that_are_kept_make_tokens_quicker():
    plain = service(concurrency=4)
    kept = service(concurrency=4, drafted_tok=3, accepted_tok=1.8)
    lost = service(concurrency=4, drafted_tok=3, accepted_tok=0)
    assert one(kept.tpot_s) < 0.6 * one(plain.tpot_s) < one(lost.tpot_s)


def test_a_token_waits_for_the_prompts_of_others():
    """Longer prompts of others, or shorter answers, mean more prompts among one's own tokens."""
    quiet = service(prompt=100, output=2000, concurrency=64)
    busy = service(prompt=8000, output=500, concurrency=64)
    assert one(busy.tpot_s) > 1.5 * one(quiet.tpot_s)
    assert one(busy.tpot_s) > 1.5 * one(busy.step_s)


def test_many_layouts_at_once_are_each_alone():
    tps = np.array([1.0, 2, 4, 8])
    many = service(concurrency=np.array([8.0, 16, 32, 64]), layout=Layout(tp=tps))
    for place, (tp, load) in enumerate(zip((1, 2, 4, 8), (8, 16, 32, 64), strict=True)):
        alone = service(concurrency=load, layout=Layout(tp=tp))
        assert many.ttft_s[place] == one(alone.ttft_s)
        assert many.tpot_s[place] == one(alone.tpot_s)


def apart(load, workers=(1, 1), output=500):
    work = work_of(LLAMA, weights="fp8", kv="fp8")
    rates = rates_of([CHIP], find_engine("trtllm"), weights="fp8")
    return serve_apart(
        work,
        rates,
        prefill=Layout(tp=4, dp=workers[0]),
        layout=Layout(tp=4, dp=workers[1]),
        traffic=Traffic(prompt_tok=8000, output_tok=output, concurrency=load),
        limits=ROOMY,
    )


def test_apart_tokens_do_not_wait_for_prompts():
    both = service("trtllm", 8000, 500, concurrency=32, layout=Layout(tp=4))
    split = apart(32)
    assert one(split.tpot_s) < one(both.tpot_s)


@given(st.integers(1, 512))
def test_apart_nobody_does_more_than_it_can(load):
    found = apart(load)
    assert one(found.prefill_busy) <= 1.001
    lives = one(found.ttft_s) + 499 * one(found.tpot_s)
    assert one(found.requests_per_s) * lives == pytest.approx(load, rel=1e-6)


def test_more_workers_for_prompts_shorten_the_wait():
    assert one(apart(256, workers=(4, 1)).ttft_s) < one(apart(256, workers=(1, 1)).ttft_s)
