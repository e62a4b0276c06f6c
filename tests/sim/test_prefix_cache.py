"""What sessions find of their prompts: by the law, by playing the load, and as a trace's hashes tell it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, DataError
from rigright.cost.speed.prefix import KvTiers, hits_of, kept_share
from rigright.demand import KvStore, ServingWish, Traffic
from rigright.facts.nodes import find_node
from rigright.options.read import read_wish
from rigright.predict.cases import predict
from rigright.search.single import single
from rigright.sim.fleet import ReplicaFleet, play
from rigright.sim.load import hashed_trace
from rigright.sim.tally import Targets, tally
from rigright.verbs.explain import explain
from rigright.verbs.simulate.replicas import play_case
from rigright.verbs.simulate.setup import PlayWish
from rigright.verbs.simulate.verb import simulate

SESSION = Traffic(prompt_tok=16000, output_tok=600, cached_tok=13000, shared_tok=2000, think_s=10.0, turns=9)
WISH = ServingWish(
    engine="vllm", weights="fp8", kv="16bit", prompt_tok=16000, output_tok=600, context_tok=32768, users=32
)
GB = 1e9
sizes, shares = st.floats(0, 1e7), st.floats(0.01, 100)


def found(traffic=SESSION, *, ram=0.0, pool=300_000, running=5.0, per_s=0.4):
    away = per_s * (traffic.think_s + 5.0)
    state = {"running": running, "away": away, "per_s": per_s}
    return hits_of(traffic, KvTiers(ram_tok=ram, ram_tok_per_s=1e5), pool_tok=pool, **state)


@given(pool=sizes, more=sizes, ram=sizes, running=st.floats(0, 60))
def test_more_memory_finds_no_less_and_never_more_than_was_seen(pool, more, ram, running):
    share = found(pool=pool, ram=ram, running=running).share
    assert share <= found(pool=pool + more, ram=ram, running=running).share + 1e-9
    assert share <= found(pool=pool, ram=ram + more, running=running).share + 1e-9
    assert 2000 / 16000 - 1e-9 <= share <= 13000 / 16000 + 1e-9


@given(room=sizes, away=shares, longer=st.floats(1, 20), turns=st.sampled_from([2.0, 9.0, 50.0, np.inf]))
def test_who_is_away_longer_finds_no_more(room, away, longer, turns):
    asked = {"context_tok": 14600, "turns": turns}
    assert kept_share(room, away=away, **asked) >= kept_share(room, away=away * longer, **asked) - 1e-9


@pytest.mark.parametrize(
    "sessions",
    [
        {"cached_share": 0.9},  # all queue: who comes back finds nothing
        {"cached_share": 0.9, "kv_store": KvStore(ram_bytes=150 * GB)},
        {"turns": 9, "think_s": 60.0},
        {"turns": 9, "think_s": 60.0, "kv_store": KvStore(ram_bytes=200 * GB)},
        {"turns": 9, "think_s": 20.0, "shared_tok": 6000},
        {"turns": 40, "think_s": 200.0},
        {"cached_share": 0.9, "think_s": 100.0, "kv_store": KvStore(ram_bytes=80 * GB)},
    ],
)
def test_the_law_and_the_play_agree(sessions):
    wish = replace(WISH, **sessions)
    case = single(open_model("qwen3-32b"), find_node("1x h100"), wish=wish).case
    law = predict([case])
    share = sum(float(law[f"hit_{tier}"][0]) for tier in ("gpu", "ram", "disk"))
    plays = {name: value for name, value in sessions.items() if name != "kv_store"}
    load = PlayWish(concurrency=32, prompt_tok=16000, output_tok=600, requests=1000, **plays)
    played = simulate("qwen3-32b", "1x h100", wish=wish, load=load)
    assert played.tally.hit_share == pytest.approx(share, abs=0.12)
    assert played.tally.output_tok_per_s == pytest.approx(law["output_tok_per_s"][0], rel=0.12)


def lines(*rows):
    names = ("timestamp", "input_length", "output_length", "hash_ids")
    return [json.dumps(dict(zip(names, row, strict=True))) for row in rows]


def test_hashes_tell_what_two_prompts_have_in_common():
    ids = [list(range(8)), [*range(6), 20, 21], list(range(100, 108)), list(range(8))]
    trace = hashed_trace(lines(*((place * 100_000, 4096, 2, keys) for place, keys in enumerate(ids))), "t")
    assert trace.load.sessions.block_tok == 512
    assert trace.load.arrival_s[1] == 100
    case = single(open_model("llama-3.1-8b"), find_node("1x h100"), wish=ServingWish(users=4)).case
    shop = play_case(case, trace.load, wish=PlayWish(trace="t"))[0].shop
    common = 6 * 512 + 4095  # a prompt's last token is always computed
    played = play(trace.load, ReplicaFleet(shop=shop))
    assert tally(trace.load, played, targets=Targets()).hit_share == pytest.approx(common / (4 * 4096))
    tight = play(trace.load, ReplicaFleet(shop=replace(shop, blocks=4200 // shop.block_tok)))
    share = tally(trace.load, tight, targets=Targets()).hit_share
    assert share == pytest.approx(6 * 512 / (4 * 4096)), "the third took its room"


@pytest.mark.parametrize(
    "line", ['{"timestamp": 0}', '{"timestamp": -1, "input_length": 5, "output_length": 1}', "{"]
)
def test_a_line_without_lengths_is_named(line):
    with pytest.raises(DataError, match="line 2"):
        hashed_trace([*lines((0, 600, 3, [1, 2])), line], "t.jsonl")


@pytest.mark.parametrize(
    ("text", "store"),
    [
        ("200gb", KvStore(ram_bytes=200 * GB)),
        ("RAM 64GB, NVMe 2TB", KvStore(ram_bytes=64 * GB, nvme_bytes=2000 * GB)),
        ("nvme=500gb", KvStore(nvme_bytes=500 * GB)),
        ("内存 100gb", KvStore(ram_bytes=100 * GB)),
    ],
)
def test_memory_beside_the_gpus_is_read_and_written(text, store):
    assert read_wish({"offload-kv": text}).kv_store == store
    assert read_wish({"offload-kv": str(store)}).kv_store == store


def test_what_memory_cannot_keep_is_said_on_the_first_line():
    said = explain("qwen3-32b", "1x h100", wish=replace(WISH, cached_share=0.95)).notes
    assert any(note.kind == "decides" and "--cached" in str(note) for note in said)
    for text in ("x", "0gb", "ram"):
        with pytest.raises(AskError):
            read_wish({"offload-kv": text})
