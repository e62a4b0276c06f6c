"""What must hold of every replay: nothing is lost, made twice, early, or kept where there is no room."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from players import POLICIES, log_of, make_load, make_shop, slow_replay

from examples import few
from rigright.sim.fleet import Handover, ReplicaFleet, play
from rigright.sim.server import NEVER

REQUESTS = st.lists(
    st.tuples(st.floats(0, 2, allow_nan=False), st.integers(1, 300), st.integers(1, 60), st.integers(0, 40)),
    min_size=1,
    max_size=24,
)
SHOPS = {
    policy: {size: make_shop(policy, blocks=blocks, seats=seats) for size, (blocks, seats) in {
        "tight": (24, 8), "narrow": (64, 3), "wide": (4096, 8)}.items()}
    for policy in POLICIES
}  # fmt: skip


def check(load, played):
    book, done = played.book, [one for one in range(load.count) if one not in played.refused]
    for request in done:
        assert load.arrival_s[request] <= book.started_s[request] or load.users
        assert book.started_s[request] < book.first_s[request] <= book.last_s[request]
        assert (book.first_s[request] == book.last_s[request]) == (load.output_tok[request] == 1)
    made = sum(float((log["sequences"] * log["passes"]).sum()) for log in map(log_of, played.servers))
    wanted = sum(int(load.output_tok[request]) - 1 for request in done)
    return made, wanted


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("size", ["tight", "narrow", "wide"])
@given(rows=REQUESTS)
@few
def test_every_token_is_made_once_and_the_cache_never_overflows(policy, size, rows):
    load, shop = make_load(rows), SHOPS[policy][size]
    played = play(load, ReplicaFleet(shop=shop))
    made, wanted = check(load, played)
    server = played.servers[0]
    log = log_of(server)
    assert server.next_s == NEVER
    assert server.free == shop.blocks
    assert (np.diff(log["end_s"]) >= 0).all()
    assert (log["used_blocks"] <= shop.blocks).all()
    assert (log["used_blocks"] >= 0).all()
    assert (log["sequences"] <= shop.max_seqs).all()
    # a sequence that lost its cache makes one token with the last chunk of its prompt, again
    assert wanted - server.preempted <= made <= wanted
    prompts = sum(int(load.prompt_tok[one] - load.cached_tok[one]) for one in range(load.count))
    refused = sum(int(load.prompt_tok[one] - load.cached_tok[one]) for one in played.refused)
    again = log["prompt_tok"].sum() - (prompts - refused)
    assert again >= server.preempted
    assert server.preempted or again == 0


@pytest.mark.parametrize("policy", ["static", "tensorrt_llm"])
@given(rows=REQUESTS)
def test_who_keeps_cache_for_the_whole_answer_never_loses_it(policy, rows):
    played = play(make_load(rows), ReplicaFleet(shop=SHOPS[policy]["tight"]))
    assert played.servers[0].preempted == 0


@pytest.mark.parametrize("policy", POLICIES)
@given(rows=REQUESTS)
def test_first_come_first_let_in(policy, rows):
    played = play(make_load(rows), ReplicaFleet(shop=SHOPS[policy]["narrow"]))
    started = [moment for moment in played.book.started_s if moment == moment]  # noqa: PLR0124 - not nan
    assert started == sorted(started)


@pytest.mark.parametrize("policy", ["vllm", "vllm_sync"])
@given(rows=REQUESTS.map(lambda rows: [row[:3] for row in rows]))
def test_strides_and_sums_tell_the_same_as_walking_pass_by_pass(policy, rows):
    load, shop = make_load(rows), SHOPS[policy]["wide"]
    played = play(load, ReplicaFleet(shop=shop))
    first, last = slow_replay(load, shop)
    assert np.allclose(played.book.first_s, first, rtol=1e-9, atol=1e-9)
    assert np.allclose(played.book.last_s, last, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("router", ["round-robin", "least-busy"])
@pytest.mark.parametrize("users", [None, 4])
@given(rows=REQUESTS)
def test_no_request_is_lost_among_replicas(router, users, rows):
    load = make_load([(0.0, *row[1:]) for row in rows] if users else rows, users=users)
    played = play(load, ReplicaFleet(shop=SHOPS["vllm"]["narrow"], replicas=3, router=router))
    check(load, played)
    assert all(server.next_s == NEVER for server in played.servers)


@pytest.mark.parametrize("users", [None, 3])
@given(rows=REQUESTS)
def test_no_request_is_lost_between_workers_for_prompts_and_for_tokens(users, rows):
    load = make_load([(0.0, *row[1:]) for row in rows] if users else rows, users=users)
    played = play(load, apart(start_s=0.004))
    made, wanted = check(load, played)
    assert made == wanted
    for server in (*played.servers, *played.prefill_servers):
        assert server.next_s == NEVER
        assert server.free == server.shop.blocks
        assert server.preempted == 0


def apart(**wire):
    shop = SHOPS["vllm"]["narrow"]
    maker = make_shop("handed_over", blocks=64, seats=3, pace=shop.pace)
    wire = {"token_bytes": 1000.0, "bytes_per_s": 1e9, "start_s": 0.0, **wire}
    return ReplicaFleet(
        shop=maker,
        replicas=2,
        prefill=shop,
        prefill_replicas=1,
        handover=Handover(**wire),
        router="least-busy",
    )


@given(rows=REQUESTS, slow=st.floats(0.0, 0.5))
def test_a_slower_wire_between_workers_never_ends_the_whole_earlier(rows, slow):
    load = make_load([(row[0], row[1], max(row[2], 2)) for row in rows[:1]])
    quick, late = (play(load, apart(start_s=start)) for start in (0.0, slow))
    if not quick.refused.size:
        assert late.book.last_s[0] == pytest.approx(quick.book.last_s[0] + slow)
