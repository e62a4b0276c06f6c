"""Small loads reckoned by hand, and what each policy does with the same one."""

from __future__ import annotations

import numpy as np
import pytest
from players import BASE_S, CONTEXT_S, PAIR_S, TOKEN_S, log_of, make_load, make_shop

from rigright.sim.fleet import ReplicaFleet, play
from rigright.sim.tally import Targets, tally


def played(rows, policy="vllm", **more):
    load = make_load(rows)
    return load, play(load, ReplicaFleet(shop=make_shop(policy, **more)))


def test_one_request_alone_is_a_prompt_and_its_tokens():
    load, found = played([(1.0, 100, 3)], "vllm_sync")
    prompt_s = BASE_S + TOKEN_S * 100 + PAIR_S * 100 * 50
    assert found.book.first_s[0] == pytest.approx(1 + prompt_s)
    tokens_s = sum(BASE_S + TOKEN_S + CONTEXT_S * held for held in (101, 102))
    assert found.book.last_s[0] == pytest.approx(1 + prompt_s + tokens_s)
    counted = tally(load, found, targets=Targets())
    assert counted.ttft_s.mean == pytest.approx(prompt_s)
    assert counted.itl_s.mean == pytest.approx(counted.tpot_s.mean)
    assert counted.span_s == pytest.approx(prompt_s + tokens_s)


def test_a_prompt_found_in_the_cache_is_not_worked_on_again():
    _, found = played([(0.0, 100, 1, 60)], "vllm_sync")
    assert found.book.first_s[0] == pytest.approx(BASE_S + TOKEN_S * 40 + PAIR_S * 40 * (60 + 20))


def test_a_long_prompt_is_cut_and_the_tokens_of_others_go_on():
    _, found = played([(0.0, 10, 40), (0.005, 1000, 2)], "vllm_sync", budget=256)
    log = log_of(found.servers[0])
    assert list(log["prompt_tok"][:5]) == [10, 255, 255, 255, 235]
    assert list(log["sequences"][1:5]) == [1, 1, 1, 1]


def test_planning_ahead_lets_who_comes_in_a_pass_later():
    rows = [(0.0, 10, 40), (0.055, 10, 2)]
    (_, now), (_, ahead) = played(rows, "vllm_sync"), played(rows, "vllm")
    later = ahead.book.first_s[1] - now.book.first_s[1]
    assert later == pytest.approx(BASE_S, rel=0.1)


def test_static_batching_makes_who_comes_late_wait_for_the_whole_batch():
    _, found = played([(0.0, 10, 5), (0.0, 10, 50), (0.02, 10, 5)], "static")
    assert found.book.last_s[0] < found.book.last_s[1] <= found.book.started_s[2]


def test_sglang_reads_prompts_alone_while_others_stand_still():
    _, found = played([(0.0, 10, 40), (0.1, 300, 2)], "sglang")
    log = log_of(found.servers[0])
    assert ((log["prompt_tok"] > 0) & (log["sequences"] > 0)).sum() == 0
    counted = tally(make_load([(0.0, 10, 40), (0.1, 300, 2)]), found, targets=Targets())
    assert counted.itl_s.most > 1.9 * counted.itl_s.p50


@pytest.mark.parametrize("policy", ["vllm", "sglang", "static", "tensorrt_llm"])
def test_every_token_after_a_first_one_has_its_gap(policy):
    rows = [(0.03 * one, 50 + 11 * one, 3 + one % 25) for one in range(40)]
    load, found = played(rows, policy)
    gaps, weights = found.servers[0].log.gaps()
    assert weights.sum() == load.output_tok.sum() - load.count
    assert (weights >= 0).all()
    between = np.array(found.book.last_s) - np.array(found.book.first_s)
    assert (gaps * weights).sum() == pytest.approx(between.sum(), rel=0.002)


def test_a_full_cache_takes_the_newest_ones_cache_and_gives_it_back_first():
    _, found = played([(0.0, 100, 60), (0.001, 100, 60)], blocks=16, block_tok=16)
    server = found.servers[0]
    assert server.preempted >= 1
    assert found.book.last_s[0] < found.book.last_s[1]
    _, kept = played([(0.0, 100, 60), (0.001, 100, 60)], "tensorrt_llm", blocks=16, block_tok=16)
    assert kept.servers[0].preempted == 0
    assert kept.book.started_s[1] >= kept.book.last_s[0]


def test_what_no_cache_holds_is_refused_and_the_rest_served():
    load, found = played([(0.0, 5000, 10), (0.0, 100, 10)], blocks=64)
    counted = tally(load, found, targets=Targets())
    assert (counted.refused, counted.served) == (1, 1)
    assert np.isnan(found.book.last_s).sum() == 1


def test_users_of_a_closed_loop_ask_again_when_answered():
    load = make_load([(0.0, 50, 20)] * 9, users=3, think_s=0.25)
    found = play(load, ReplicaFleet(shop=make_shop()))
    asked, ended = np.sort(found.book.arrival_s), np.sort(found.book.last_s)
    assert (asked[:3] == 0).all()
    assert np.allclose(asked[3:], ended[:6] + 0.25)


def test_two_replicas_halve_the_line():
    rows = [(0.0, 400, 20)] * 40
    load = make_load(rows)
    one, two = (tally(load, play(load, ReplicaFleet(shop=make_shop(), replicas=count)), targets=Targets())
                for count in (1, 2))  # fmt: skip
    assert two.queue_s.mean < 0.6 * one.queue_s.mean
    assert two.output_tok_per_s > 1.7 * one.output_tok_per_s


def test_goodput_counts_who_meets_both_targets():
    load = make_load([(0.0, 400, 20)] * 40)
    found = play(load, ReplicaFleet(shop=make_shop()))
    free = tally(load, found, targets=Targets())
    tight = tally(load, found, targets=Targets(ttft_s=free.ttft_s.p50))
    both = tally(load, found, targets=Targets(ttft_s=free.ttft_s.p50, tpot_s=free.tpot_s.p50))
    assert free.good_share == 1
    assert 0.4 < tight.good_share < 0.7
    assert both.good_share <= tight.good_share
    assert both.good_per_s == pytest.approx(both.good_share * load.count / both.span_s)


def test_the_timeline_adds_up_to_what_was_made():
    load = make_load([(0.02 * one, 100 + 7 * one, 5 + one % 40) for one in range(80)])
    found = play(load, ReplicaFleet(shop=make_shop(), replicas=2))
    counted = tally(load, found, targets=Targets())
    made = sum(moment.output_tok_per_s * (moment.end_s - moment.start_s) for moment in counted.timeline)
    assert made == pytest.approx(load.output_tok.sum(), rel=1e-6)
    running = sum(moment.running for moment in counted.timeline) / len(counted.timeline)
    assert running == pytest.approx(counted.running_mean, rel=1e-6)
    assert all(moment.running >= 0 and moment.waiting >= 0 for moment in counted.timeline)
    assert all(0 <= moment.cache_share <= 1 for moment in counted.timeline)
