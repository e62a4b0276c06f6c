"""Caches: what tokens leave behind, and how engines lay it out in pages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import cache
from rigright.arch.record import Arch, Layer, Mix, Mixer, Tower
from rigright.arch.sources import zoo
from rigright.base.errors import RigError
from rigright.cost.layers import lanes
from rigright.cost.memory.kv import Ask, cache_need, entries, entry_bytes, state_bytes, token_bytes
from rigright.demand import Layout
from rigright.facts.engines import find_engine
from rigright.facts.formats import find_kv_format, kv_formats

GQA = Mixer(kind=Mix.FULL, heads=32, kv_heads=8, key_dim=128, value_dim=128)
MLA = Mixer(kind=Mix.LATENT, heads=32, kv_heads=32, key_dim=192, value_dim=128, latent_dim=576)
WINDOW = Mixer(kind=Mix.WINDOW, heads=32, kv_heads=8, key_dim=128, value_dim=128, window_tok=1024)
DELTA = Mixer(
    kind=Mix.LINEAR,
    heads=32,
    kv_heads=32,
    key_dim=128,
    value_dim=128,
    state32_elems=32 * 128 * 128,
    state16_elems=3 * 32 * 128 * 3,
)


def model(*mixers):
    layers = tuple(Layer(weights=(), mixer=mixer) for mixer in mixers)
    return Arch(
        name="m", family="m", task="text", towers=(Tower(name="text", hidden=64, layers=layers),), vocab=8
    )


def ask(**changes):
    return Ask(**{"context_tok": 4096, "batch": 1, "budget_tok": 2048, "element_bytes": 2, **changes})


def pool_of(arch, engine, layout=None, **changes):
    counts = np.array([float(count) for count in lanes(arch).values()])
    return cache_need(arch, find_engine(engine), ask=ask(**changes), layout=layout or Layout(), counts=counts)


def test_the_whole_zoo_agrees_with_the_counts_of_the_arch_room():
    checked = 0
    for name in zoo.names():
        try:
            arch = zoo.arch(name)
        except RigError:
            continue
        law = float(token_bytes(arch, Layout(), element_bytes=2))
        assert law == pytest.approx(float(cache.kv_bytes_per_token(arch))), name
        checked += 1
    assert checked > 250


@pytest.mark.parametrize(("tp", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1)])
def test_kv_heads_fewer_than_ranks_are_copied(tp, heads):
    each = float(entry_bytes(GQA, Layout(tp=tp), element_bytes=2))
    assert each == heads * 256 * 2


def test_a_latent_is_kept_whole_by_every_rank():
    sizes = entry_bytes(MLA, Layout(tp=np.array([1, 2, 8])), element_bytes=2)
    assert list(sizes) == [1152, 1152, 1152]


def test_attention_replicas_keep_all_heads_and_context_parallel_cuts_tokens():
    assert float(entry_bytes(GQA, Layout(tp=8, attention_dp=True), element_bytes=2)) == 8 * 256 * 2
    assert float(entry_bytes(GQA, Layout(cp=4), element_bytes=2)) == 8 * 256 * 2 / 4


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_longer_sequence_never_keeps_less(short, more):
    for mixer in (GQA, MLA, WINDOW, DELTA):
        few, many = (entries(mixer, tok, extra_tok=0, cross=0) for tok in (short, short + more))
        assert few <= many
        assert few <= short


@given(st.integers(1, 10**6))
def test_a_window_keeps_its_own_length_at_most(context):
    assert entries(WINDOW, context, extra_tok=0, cross=0) == min(context, 1024)


def test_states_do_not_grow_and_are_cut_by_heads():
    whole, cut = (float(state_bytes(DELTA, Layout(tp=tp))) for tp in (1, 4))
    assert whole == 32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2
    assert cut == whole / 4


@given(st.integers(1, 100_000), st.integers(1, 64))
def test_blocks_are_whole(context, batch):
    found = pool_of(model(GQA, GQA), "vllm", context_tok=context, batch=batch)
    assert float(found.unit_bytes) == 16 * 2 * 8 * 256 * 2
    assert float(found.cache_bytes) == -(-context // 16) * batch * float(found.unit_bytes)


def test_hybrid_pages_are_one_size_as_a_public_log_shows():
    """vllm-project/vllm#28228: Kimi-Linear over 2 cards, 2.30 GiB of cache, 75,840 tokens, 2.48 sequences."""
    layers = [MLA if place % 4 == 3 or place == 26 else DELTA for place in range(27)]
    found = pool_of(model(*layers), "vllm 0.11", layout=Layout(tp=2), context_tok=120_000)
    blocks = 2.30 * 2**30 // float(found.unit_bytes)
    assert blocks // 4 * 4 * float(found.unit_tok) == 75_840
    assert blocks * float(found.unit_bytes) / float(found.need_bytes) == pytest.approx(2.48, abs=0.02)


def test_sliding_windows_share_pages_with_full_layers():
    found = pool_of(model(*(([WINDOW] * 5 + [GQA]) * 10)), "vllm", context_tok=32_768, budget_tok=8192)
    unit = 16 * 8 * 256 * 2 * 10
    assert float(found.unit_bytes) == unit
    assert float(found.unit_tok) == pytest.approx(16 / 6)
    window_blocks = (1024 + 8192) // 16 + 1
    assert float(found.cache_bytes) == (32_768 // 16 + 5 * window_blocks) * unit


def test_an_engine_without_windows_keeps_everything():
    kept = {
        name: float(pool_of(model(WINDOW), name).cache_bytes)
        for name in ("transformers 4.40", "transformers")
    }
    assert kept["transformers 4.40"] == 4 * kept["transformers"]


def test_llama_cpp_rounds_contexts_up_to_256():
    sizes = [float(pool_of(model(GQA), "llama.cpp", context_tok=tok).cache_bytes) for tok in (1, 256, 257)]
    assert sizes[0] == sizes[1] == sizes[2] / 2


def test_every_cache_format_is_smaller_or_larger_as_its_bits_say():
    for form in kv_formats().values():
        assert find_kv_format(form.label).id == form.id
        assert form.element_bytes == form.bits / 8
        assert form.source
        assert form.as_of


def test_an_unknown_cache_format_lists_what_there_is():
    with pytest.raises(RigError, match="q8_0"):
        find_kv_format("q99")
