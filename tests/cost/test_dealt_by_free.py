"""Layers dealt out to cards, held against what llama.cpp logged that it did, and what speed makes of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources import zoo
from rigright.base.units import MIB
from rigright.cost.memory.places import dealt_bounds
from rigright.cost.memory.serving import stage_memories
from rigright.cost.memory.stages import even_bounds, split_by_free
from rigright.cost.speed.dealt import deal, head_share
from rigright.demand import Layout, Serving
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.facts.nodes import Card, find_node
from rigright.terms.memory import device_of, started, weigh
from rigright.terms.speed import rates_of, work_of

LLAMA = zoo.arch("meta-llama/Llama-3.1-8B")
# public logs: layers, MiB free on each card before the model is loaded, layers whose cache each card then has
LOGS = {
    "RTX 4090 half in use, RTX 5090; Qwen3-30B-A3B; b5622 (ikawrakow/ik_llama.cpp, 2025-06-10)": (
        48, (9862, 31518), (12, 36),
    ),
    "RTX 5090, 2x RTX 4090, A6000; DeepSeek-V3-0324 (ikawrakow/ik_llama.cpp, 2025-05-10)": (
        61, (29249, 23633, 23698, 48280), (15, 12, 12, 22),
    ),
    "2x RTX 4090; 24 layers, tied head (nixiesearch docs, GPU support)": (24, (1, 1), (13, 11)),
}  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
def test_layers_go_where_llama_cpp_logged_them(log):
    layers, free, dealt = LOGS[log]
    bounds = split_by_free(layers, [size * MIB for size in free])
    assert tuple(last - first for first, last in bounds) == dealt


@given(
    layers=st.integers(1, 200),
    free=st.lists(st.floats(0, 1e12) | st.just(0.0), min_size=1, max_size=16),
)
def test_every_layer_is_on_one_card_and_more_memory_never_gets_fewer(layers, free):
    bounds = split_by_free(layers, free)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == layers
    assert all(one[1] == other[0] for one, other in pairwise(bounds))
    counts = [last - first for first, last in bounds]
    assert all(count >= 0 for count in counts)
    more = split_by_free(layers, [size * 2 if place == 0 else size for place, size in enumerate(free)])
    assert more[0][1] >= bounds[0][1]
    sizes = np.maximum(np.asarray(free), 1.0)
    wanted = sizes / sizes.sum() * (layers + 1) - np.array(counts)
    assert np.all((wanted > -1 - 1e-6) & (wanted < 2 + 1e-6)), "its share, but for a layer's end and the head"


def test_alike_cards_are_dealt_the_same_in_arrays_and_one_by_one():
    engine = find_engine("llama.cpp")
    cards = find_node("4x rtx 3090").cards
    serving = Serving(engine="llama.cpp", weights="gguf:Q4_K_M", kv="16bit", context_tok=8192, batch=1)
    weights = weigh(LLAMA, "gguf:Q4_K_M")
    devices = [device_of(card, engine) for card in cards]
    bounds = dealt_bounds(LLAMA, weights, start=started(serving), layout=Layout(pp=4), devices=devices)
    assert bounds == even_bounds(32, 4, split="layer") == ((0, 9), (9, 17), (17, 25), (25, 32))
    assert even_bounds(32, 4, split="tensor") == ((0, 8), (8, 16), (16, 24), (24, 32))


def test_where_free_memory_would_overfill_a_card_all_are_filled_alike():
    """Caches and buffers are no part of the rule: a card nearly full by it is relieved, as `--fit` does."""
    engine, arch = find_engine("llama.cpp"), zoo.arch("google/gemma-3-27b-it")  # a head of 1.4 GiB
    cards = find_node("rtx 4090 + rtx 3060 12gb").cards
    weights = weigh(arch, "gguf:Q8_0")
    devices = [device_of(card, engine) for card in cards]
    free = [device.free_bytes - device.context_bytes for device in devices]

    def spares(context_tok, bounds):
        serving = Serving(
            engine="llama.cpp", weights="gguf:Q8_0", kv="16bit", context_tok=context_tok, batch=1
        )
        asked = {"start": started(serving), "layout": Layout(pp=2)}
        if bounds is None:
            bounds = dealt_bounds(arch, weights, devices=devices, **asked)
        places = list(zip(devices, bounds, strict=True))
        return bounds, min(
            float(one.spare_bytes) for one in stage_memories(arch, weights, places=places, **asked)
        )

    usual = split_by_free(62, free)
    relieved = 0
    for context_tok in range(1024, 2**16, 8192):
        bounds, spare = spares(context_tok, None)
        _, plain = spares(context_tok, usual)
        assert (bounds == usual) == (plain >= 0) or spare <= 0
        relieved += plain < 0 <= spare
    assert relieved > 2, "up to 39,936 tokens only the second deal fits"


def test_a_tied_head_stands_on_the_last_card_and_the_table_on_the_host():
    """2x RTX 4090, Qwen2-0.5B, 32768 tokens: 104.91 and 226.06 MiB of weights, 208 and 176 MiB of cache."""
    arch = zoo.arch("Qwen/Qwen2-0.5B")
    engine = find_engine("llama.cpp")
    serving = Serving(engine="llama.cpp", weights="gguf:Q4_0", kv="16bit", context_tok=32768, batch=1)
    devices = [device_of(card, engine) for card in find_node("2x rtx 4090").cards]
    weights = weigh(arch, serving.weights)
    asked = {"start": started(serving), "layout": Layout(pp=2)}
    bounds = dealt_bounds(arch, weights, devices=devices, **asked)
    found = stage_memories(arch, weights, places=list(zip(devices, bounds, strict=True)), **asked)
    assert bounds == ((0, 13), (13, 24))
    assert [float(one.cache_bytes) / MIB for one in found] == pytest.approx([208, 176])
    assert [float(one.weights_bytes) / MIB for one in found] == pytest.approx([104.91, 226.06], rel=0.02)


@given(free=st.lists(st.floats(1e9, 1e11), min_size=1, max_size=8), data=st.data())
def test_parts_of_a_pass_are_a_whole_and_the_slowest_card_sets_a_pipeline(free, data):
    names = data.draw(
        st.lists(st.sampled_from(["rtx-4090", "rtx-3060-12gb"]), min_size=len(free), max_size=len(free))
    )
    chips = [by_id()[name] for name in names]
    work = work_of(LLAMA, weights="gguf:Q4_K_M", kv="16bit")
    dealt = deal(chips, work, bounds=split_by_free(32, free))
    assert dealt.parts.sum() == pytest.approx(1)
    assert dealt.shares.sum() == pytest.approx(1)
    assert dealt.parts[-1] >= head_share(work) > 0.05
    rates = rates_of(dealt.chips, find_engine("llama.cpp"), weights="gguf:Q4_K_M")
    even = dealt.evened(rates, work=work, chunk_tok=512)
    assert np.all(np.asarray(even.piped) <= np.asarray(rates.piped) + 1e-12)
    assert np.all(np.asarray(even.piped) >= -1e-12)
    if len(free) == 1:
        assert np.all(np.asarray(even.piped) == 0), "one card is no pipeline"


def test_one_rule_deals_layers_in_every_verb():
    from rigright.demand import ServingWish
    from rigright.predict.deployment import Deployment
    from rigright.predict.ranks import dealt_of
    from rigright.search.question import KindWay
    from rigright.search.single import single
    from rigright.verbs.serving.remedies import card_uses

    node = find_node("rtx 4090 (14 GiB free) + rtx 3060 12gb")
    case = single(
        LLAMA, node, wish=ServingWish(engine="llama.cpp", weights="gguf:Q4_K_M", context_tok=8192, pp=2)
    ).case
    way = KindWay(engine=case.engine, weights="gguf:Q4_K_M", kv="16bit", kinds=(0,))
    work = work_of(LLAMA, weights="gguf:Q4_K_M", kv="16bit")
    serving = way.serving(context_tok=8192)
    deployment = Deployment(arch=LLAMA, engine=case.engine, serving=serving, machines=(node.cards,))
    searched = dealt_of(deployment.mixed_case())
    explained = dealt_of(case)
    assert explained.parts.tolist() == searched.parts.tolist()
    head = head_share(work)
    layers = [use.layers[1] - use.layers[0] for use in card_uses(case)]
    assert explained.parts.tolist() == pytest.approx(
        [layers[0] / 32 * (1 - head), layers[1] / 32 * (1 - head) + head]
    )
    assert isinstance(node.cards[0], Card)
