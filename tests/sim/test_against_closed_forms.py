"""Replays against theory nobody here wrote: queues of one seat, users in a loop; and our own closed form."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from players import BASE_S, CONTEXT_S, PAIR_S, POLICIES, TOKEN_S, make_load, make_shop

from examples import few
from rigright.arch.sources.open import open_model
from rigright.cost.speed.service import Limits, serve
from rigright.demand import Layout, Traffic
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.predict.passes import law_of
from rigright.sim.fleet import ReplicaFleet, play
from rigright.sim.load import Arrivals, made_load
from rigright.sim.pace import pace_of
from rigright.sim.tally import Targets, moments_of, spread, tally
from rigright.terms.speed import rates_of, work_of

SHOPS = {policy: make_shop(policy, blocks=1 << 20, seats=8, budget=512) for policy in POLICIES}
ALONE = make_shop("vllm_sync", blocks=1 << 20, seats=1, budget=4096)
NO_TARGETS = Targets()


def pass_s(tok=0, seen=0.0, seqs=0, context=0):
    return BASE_S + TOKEN_S * (tok + seqs) + CONTEXT_S * context + PAIR_S * tok * seen


def life_s(prompt, output):
    """A request by itself: its prompt in one pass, then a pass a token, each with one more to see."""
    reading = pass_s(tok=prompt, seen=prompt / 2)
    return reading + sum(pass_s(seqs=1, context=prompt + made) for made in range(1, output))


def played(load, shop, **fleet):
    found = play(load, ReplicaFleet(shop=shop, **fleet))
    return found, moments_of(found)


@given(prompt=st.integers(1, 500), output=st.integers(1, 200))
def test_one_request_alone_takes_the_sum_of_its_passes(prompt, output):
    _, told = played(make_load([(0.0, prompt, output)]), ALONE)
    reading = pass_s(tok=prompt, seen=prompt / 2)
    assert told.first_s[0] == pytest.approx(reading)
    assert told.last_s[0] == pytest.approx(life_s(prompt, output))


@given(count=st.integers(1, 20), prompt=st.integers(1, 400), output=st.integers(1, 50))
def test_one_seat_serves_one_after_the_other(count, prompt, output):
    """The simplest queue there is: all there at once, one seat, the k-th done after k lives."""
    _, told = played(make_load([(0.0, prompt, output)] * count), ALONE)
    expected = life_s(prompt, output) * np.arange(1, count + 1)
    assert np.sort(told.last_s) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
def test_waiting_at_one_seat_is_that_of_pollaczek_and_khinchine(share):
    """Poisson arrivals, one seat, lives all alike (M/D/1): the mean wait is share / (2 (1 - share)) lives."""
    service_s = life_s(100, 10)
    traffic = Traffic(prompt_tok=100, output_tok=10, rate_per_s=share / service_s)
    load = made_load(traffic, count=3_000, process=Arrivals(), seed=4)
    _, told = played(load, ALONE)
    waited = (told.started_s - told.arrival_s).mean() / service_s
    assert waited == pytest.approx(share / (2 * (1 - share)), rel=0.1)


def test_lives_of_all_lengths_wait_longer_than_lives_alike():
    """The same formula with a spread: (1 + c squared) times as long."""
    rate = 0.7 / life_s(100, 40)
    even, uneven = (
        made_load(
            Traffic(prompt_tok=100, output_tok=40, rate_per_s=rate, output_spread=width),
            count=4_000, process=Arrivals(), seed=5,
        )
        for width in (0.0, 1.0)
    )  # fmt: skip
    waits = []
    for load in (even, uneven):
        _, told = played(load, ALONE)
        lives = told.last_s - told.started_s
        busy = rate * lives.mean()
        formula = busy * lives.mean() * (1 + (lives.std() / lives.mean()) ** 2) / (2 * (1 - busy))
        waits.append((told.started_s - told.arrival_s).mean())
        assert waits[-1] == pytest.approx(formula, rel=0.25)
    assert waits[1] > 1.3 * waits[0]


@pytest.mark.parametrize("policy", POLICIES)
@given(users=st.integers(1, 8), prompt=st.integers(1, 300), output=st.integers(2, 40))
@few
def test_users_in_a_loop_keep_as_many_at_work_as_there_are(policy, users, prompt, output):
    """Little: requests a second times the time each takes is the number of users, but for the two ends."""
    rows = [(0.0, prompt, output)] * (users * 6)
    load = make_load(rows, users=users)
    found, told = played(load, SHOPS[policy])
    latency = told.last_s - told.arrival_s
    inside = latency.sum() / found.end_s
    assert inside <= users * (1 + 1e-9)
    assert inside >= users * (1 - 1 / 3)


@pytest.mark.parametrize("policy", POLICIES)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 3), st.integers(1, 400), st.integers(1, 40)), min_size=1, max_size=16
    )
)
@few
def test_nobody_is_served_sooner_than_alone_and_the_server_never_works_longer_than_there_is(policy, rows):
    load = make_load(rows)
    found, told = played(load, SHOPS[policy])
    least = np.array([pass_s(tok=int(tok), seen=0.0) for tok in load.prompt_tok])
    assert (told.first_s - told.arrival_s >= least * 0.999).all()
    lives = [life_s(1, int(out)) for out in load.output_tok]
    assert (told.last_s - told.arrival_s >= np.array(lives) * 0.999).all()
    counted = tally(load, found, targets=NO_TARGETS)
    assert 0 < counted.busy_share <= 1 + 1e-9
    assert counted.served == load.count
    assert counted.output_tok_per_s * counted.span_s == pytest.approx(load.output_tok.sum())


@given(
    shift=st.integers(1, 40),
    rows=st.lists(st.tuples(st.integers(0, 90), st.integers(1, 300), st.integers(1, 30)), min_size=1),
)
def test_a_clock_that_starts_later_tells_the_same_story(shift, rows):
    scale = shift / 4
    rows = [(ticks / 32, *lengths) for ticks, *lengths in rows]  # moments that floats tell exactly
    load = make_load(rows)
    later = replace(load, arrival_s=load.arrival_s + scale)
    _, first = played(load, SHOPS["vllm"])
    _, second = played(later, SHOPS["vllm"])
    assert second.first_s - scale == pytest.approx(first.first_s)
    assert second.last_s - scale == pytest.approx(first.last_s)


@given(
    rows=st.lists(st.tuples(st.just(0.0), st.integers(1, 300), st.integers(1, 30)), min_size=2, max_size=16)
)
def test_more_replicas_never_end_later(rows):
    load = make_load(rows)
    ends = [played(load, SHOPS["vllm"], replicas=count)[0].end_s for count in (1, 2, 4)]
    assert ends[2] <= ends[1] * (1 + 1e-9)
    assert ends[1] <= ends[0] * (1 + 1e-9)


@cache
def machine(model, on, layout):
    """Work, rates without the terms that only services have, and the pace of a replica."""
    work = work_of(open_model(model), weights="bf16", kv="16bit")
    told = rates_of([find_node(on).cards[0].chip], find_engine("vllm"), weights="bf16")
    bare = replace(told, request_s=np.zeros(1), ahead=np.zeros(1))
    law = law_of(work, bare, layout=layout)
    pace = pace_of(law, max_seqs=64, budget_tok=8192, context_tok=16_384, rounds=int(layout.pp))
    return work, bare, layout, pace


@pytest.mark.parametrize(
    ("model", "on", "layout"),
    [
        ("llama-3.1-8b", "1x h100", Layout()),
        ("mixtral-8x7b", "4x a100 80gb", Layout(tp=4)),
        ("llama-3.1-8b", "4x rtx 4090", Layout(pp=4)),
    ],
)
@pytest.mark.parametrize(("prompt", "output"), [(512, 128), (2048, 256), (4096, 32)])
def test_one_user_is_told_alike_by_the_formula_and_by_the_replay(model, on, layout, prompt, output):
    """The limit in which nothing is left to chance: the closed form is the replay."""
    work, rates, layout, pace = machine(model, on, layout)
    shop = make_shop("vllm_sync", blocks=1 << 20, seats=64, budget=8192, pace=pace)
    _, told = played(make_load([(0.0, prompt, output)]), shop)
    found = serve(
        work, rates, layout=layout,
        traffic=Traffic(prompt_tok=prompt, output_tok=output, concurrency=1),
        limits=Limits(pool_tok=1e9, max_seqs=64, budget_tok=8192),
    )  # fmt: skip
    alone = float(np.ravel(found.ttft_s)[0])
    with_a_token = float(np.ravel(found.step_s)[0])
    assert alone - with_a_token <= told.first_s[0] <= alone * 1.02, "the formula lets a token be made beside"
    tpot = (told.last_s[0] - told.first_s[0]) / (output - 1)
    assert tpot == pytest.approx(float(np.ravel(found.tpot_s)[0]), rel=0.01)


@pytest.mark.parametrize("users", [4, 16, 48])
def test_many_users_are_told_nearly_alike(users):
    """Answers long enough to share passes: throughput within a tenth, a token's time within a seventh."""
    work, rates, layout, pace = machine("llama-3.1-8b", "1x h100", Layout())
    shop = make_shop("vllm_sync", blocks=1 << 20, seats=64, budget=8192, pace=pace)
    load = make_load([(0.0, 1024, 256)] * (users * 8), users=users)
    found, told = played(load, shop)
    late = told.arrival_s > np.median(told.arrival_s) / 2
    formula = serve(
        work, rates, layout=layout,
        traffic=Traffic(prompt_tok=1024, output_tok=256, concurrency=users),
        limits=Limits(pool_tok=1e9, max_seqs=64, budget_tok=8192),
    )  # fmt: skip
    counted = tally(load, found, targets=NO_TARGETS)
    assert counted.output_tok_per_s == pytest.approx(float(np.ravel(formula.output_tok_per_s)[0]), rel=0.10)
    tpot = ((told.last_s - told.first_s) / 255)[late].mean()
    assert tpot == pytest.approx(float(np.ravel(formula.tpot_s)[0]), rel=0.14)


RUNS = [(64, 1, 512), (64, 8, 512), (256, 1, 64), (256, 2, 512)]


@pytest.mark.parametrize(("users", "rounds", "seats"), RUNS)
def test_a_run_that_ends_is_told_nearly_alike(users, rounds, seats):
    """Answers of all lengths, all users at once: the ramp, the queue and the tail, by formula and played."""
    work, rates, layout, _ = machine("llama-3.1-8b", "1x h100", Layout())
    pace = pace_of(law_of(work, rates, layout=layout), max_seqs=512, budget_tok=8192, context_tok=16_384)
    shop = make_shop("vllm_sync", blocks=1 << 20, seats=seats, budget=8192, pace=pace)
    limits, ratios, count = Limits(pool_tok=1e9, max_seqs=seats, budget_tok=8192), [], users * rounds
    for seed in range(6):
        outputs = 2 + np.random.default_rng(seed).exponential(198, count).astype(int)
        sent = Traffic(prompt_tok=256, output_tok=200, concurrency=users, requests=count, output_spread=1.0)
        load = made_load(sent, count=count, process=Arrivals(kind="together"), seed=seed)
        load = replace(load, output_tok=outputs)
        found, told = played(load, shop)
        law = serve(
            work, rates, layout=layout, traffic=replace(sent, output_tok=outputs.mean()), limits=limits
        )
        output = tally(load, found, targets=NO_TARGETS).output_tok_per_s
        tpot, ttft = (told.last_s - told.first_s) / (outputs - 1), told.first_s - told.arrival_s
        seen = output, tpot.mean(), ttft.mean()
        ratios.append(np.ravel([law.output_tok_per_s, law.tpot_s, law.ttft_s]) / seen)
    off = np.abs(np.median(ratios, axis=0) - 1)
    assert (off < [0.12, 0.12, 0.5 if seats == 512 else 0.1]).all(), "who waits for a slot waits longest"


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("users", [16, 48])
def test_a_pipeline_is_told_nearly_alike(stages, users):
    """Micro-batches that wait for the fullest of them: by the mean of chance, and played."""
    work, rates, layout, pace = machine("llama-3.1-8b", "4x rtx 4090", Layout(pp=stages))
    shop = make_shop("vllm_sync", blocks=1 << 20, seats=64, budget=8192, pace=pace)
    outputs = np.random.default_rng(users).integers(128, 384, users * 8)  # ends come one by one
    load = make_load([(0.0, 512, int(output)) for output in outputs], users=users)
    found, _ = played(load, shop)
    formula = serve(
        work, rates, layout=layout,
        traffic=Traffic(prompt_tok=512, output_tok=256, concurrency=users),
        limits=Limits(pool_tok=1e9, max_seqs=64, budget_tok=8192),
    )  # fmt: skip
    counted = tally(load, found, targets=NO_TARGETS)
    assert counted.output_tok_per_s == pytest.approx(float(np.ravel(formula.output_tok_per_s)[0]), rel=0.10)


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=200))
def test_percentiles_are_those_of_a_sorted_list(values):
    found = spread(np.array([*values, np.nan]))
    ordered = sorted(values)
    marks = [found.p50, found.p90, found.p95, found.p99, found.most]
    assert marks == sorted(marks)
    assert found.most == ordered[-1]
    assert ordered[0] <= found.p50 <= ordered[-1]
    assert found.mean == pytest.approx(sum(values) / len(values))
    assert sum(value <= found.p90 + 1e-9 for value in values) >= 0.9 * (len(values) - 1)


def test_nothing_served_has_no_percentiles_and_no_zero():
    found = spread(np.array([np.nan, np.nan]))
    assert all(np.isnan(value) for value in (found.mean, found.p50, found.p99, found.most))
