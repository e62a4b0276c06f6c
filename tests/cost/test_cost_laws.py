"""Laws that memory obeys whatever the model, the engine and the layout."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import count
from rigright.arch.record import Cut
from rigright.arch.sources import zoo
from rigright.cost.memory.serving import ServingMemory, serving_memory
from rigright.demand import Layout, Serving
from rigright.facts.engines import engines, find_engine
from rigright.facts.formats import formats, mixes
from rigright.facts.nodes import find_node
from rigright.terms.memory import device_of, started, weigh, weights_bytes

CARD = find_node("h100").cards[0]
WIDTHS = np.array([1, 2, 4, 8])
FIELDS = [field.name for field in fields(ServingMemory)]
EVERY_FORMAT = sorted([*formats(), *(mix.id for mix in mixes().values())])
# heads, experts, a latent, windows, states, a tied head, an encoder, a tower that sees, no writer
KINDS = (
    "meta-llama/Llama-3.1-8B",
    "Qwen/Qwen3-30B-A3B",
    "deepseek-ai/DeepSeek-V3",
    "google/gemma-3-27b-it",
    "state-spaces/mamba-2.8b-hf",
    "meta-llama/Llama-3.2-1B",
    "google-t5/t5-small",
    "Qwen/Qwen2.5-VL-7B-Instruct",
    "google-bert/bert-base-uncased",
)


def memory(name="meta-llama/Llama-3.1-8B", *, serving=None, layout=None):
    serving = serving or Serving()
    arch = zoo.arch(name)
    device = device_of(CARD, find_engine(serving.engine))
    weights = weigh(arch, serving.weights)
    return serving_memory(arch, weights, start=started(serving), layout=layout or Layout(), device=device)


def figures(found, length):
    return {name: np.broadcast_to(getattr(found, name), length) for name in FIELDS}


def test_a_whole_model_in_16_bit_weighs_two_bytes_a_parameter():
    for arch in zoo.archs():
        weighed = weigh(arch, "bf16")
        assert weighed.total_bytes == 2 * count.params(arch), arch.name
        assert len(weighed.layers) == len(arch.trunk.layers), arch.name


@pytest.mark.parametrize("name", KINDS)
def test_places_add_up_in_every_format(name):
    arch = zoo.arch(name)
    for form in EVERY_FORMAT:
        weighed = weigh(arch, form)
        places = [*weighed.layers, weighed.entry, weighed.exit, weighed.beside]
        assert sum(size for place in places for size in place.values()) == weighed.total_bytes
        assert all(size >= 0 for place in places for size in place.values())
        assert weights_bytes(arch, form) == round(weighed.total_bytes)
        assert 0 < weighed.total_bytes <= weights_bytes(arch, "fp32") * 1.001, form


@pytest.mark.parametrize("name", KINDS)
def test_fewer_bits_never_weigh_more(name):
    arch = zoo.arch(name)
    for ladder in (
        ("fp32", "bf16", "fp8", "nf4"),
        ("bf16", "int8"),
        ("bf16", "gptq8", "gptq4", "gptq3"),
        ("gguf:BF16", "gguf:Q8_0", "gguf:Q6_K", "gguf:Q5_K_M", "gguf:Q4_K_M", "gguf:Q3_K_M", "gguf:Q2_K"),
        ("gguf:Q3_K_L", "gguf:Q3_K_M", "gguf:Q3_K_S"),
        ("gguf:Q5_K_M", "gguf:Q5_K_S", "gguf:Q4_K_M", "gguf:Q4_K_S"),
    ):
        sizes = [weights_bytes(arch, form) for form in ladder]
        assert sizes == sorted(sizes, reverse=True), ladder


def test_ranks_together_hold_at_least_the_model_and_exactly_it_where_nothing_is_copied():
    for arch in islice(zoo.archs(), 0, None, 3):
        by_cut = dict.fromkeys(Cut, 0.0)
        weighed = weigh(arch, "bf16")
        for place in (*weighed.layers, weighed.entry, weighed.exit, weighed.beside):
            for cut, size in place.items():
                by_cut[cut] += size
        ranks = np.broadcast_to(memory(arch.name, layout=Layout(tp=WIDTHS)).weights_bytes, len(WIDTHS))
        assert list(ranks) == sorted(ranks, reverse=True), arch.name
        together = ranks * WIDTHS
        assert all(together >= weighed.total_bytes * (1 - 1e-12)), arch.name
        copied = (WIDTHS - 1) * (by_cut[Cut.WHOLE] + by_cut[Cut.KV])  # at most: heads may suffice
        assert all(together <= (weighed.total_bytes + copied) * (1 + 1e-12)), arch.name


SERVINGS = st.builds(
    Serving,
    engine=st.sampled_from(sorted(engines())),
    kv=st.sampled_from(["16bit", "fp8"]),
    context_tok=st.integers(1, 200_000),
    batch=st.integers(1, 300),
    budget_tok=st.none() | st.integers(16, 20_000),
    max_seqs=st.none() | st.integers(1, 1000),
    graphs=st.booleans(),
)
LAYOUTS = st.builds(
    Layout,
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.sampled_from([1, 2, 3]),
    dp=st.sampled_from([1, 2]),
    ep=st.sampled_from([1, 2, 8]),
    cp=st.sampled_from([1, 2]),
    attention_dp=st.booleans(),
)
NAMES = st.sampled_from(KINDS)


@given(NAMES, SERVINGS, LAYOUTS)
def test_nothing_is_negative_but_what_is_missing(name, serving, layout):
    found = memory(name, serving=serving, layout=layout)
    for field in FIELDS:
        size = float(getattr(found, field))
        assert np.isfinite(size), field
        assert size >= 0 or field == "spare_bytes", field
    assert float(found.device_bytes) >= float(found.weights_bytes)


@given(NAMES, SERVINGS, LAYOUTS, st.integers(1, 5000))
def test_to_ask_for_more_needs_more_and_leaves_less(name, serving, layout, more):
    asked = [{"context_tok": serving.context_tok + more}, {"batch": serving.batch + more}]
    if serving.max_seqs is not None:
        asked.append({"max_seqs": serving.max_seqs + more})
    if serving.budget_tok is not None:
        asked.append({"budget_tok": serving.budget_tok + more})
    if serving.kv == "fp8":
        asked.append({"kv": "16bit"})
    if not serving.graphs:
        asked.append({"graphs": True})
    less = memory(name, serving=serving, layout=layout)
    for changes in asked:
        found = memory(name, serving=replace(serving, **changes), layout=layout)
        assert float(found.need_bytes) >= float(less.need_bytes) * (1 - 1e-12), changes
        assert float(found.spare_bytes) <= float(less.spare_bytes) + 1, changes


@given(NAMES, SERVINGS, st.sampled_from([1, 2, 4]))
def test_twice_the_cards_never_hold_more_each_and_never_less_than_half(name, serving, tp):
    narrow, wide = (memory(name, serving=serving, layout=Layout(tp=width)) for width in (tp, 2 * tp))
    for field in ("weights_bytes", "cache_bytes", "states_bytes"):
        one, two = float(getattr(narrow, field)), float(getattr(wide, field))
        assert one / 2 * (1 - 1e-9) <= two <= one * (1 + 1e-9), field


@given(
    NAMES,
    SERVINGS,
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, 4, 8]),
            st.integers(1, 4),
            st.integers(1, 100_000),
            st.integers(1, 400),
            st.integers(1, 10_000),
        ),
        min_size=1,
        max_size=5,
    ),
)
def test_choices_as_arrays_are_the_choices_one_by_one_to_the_bit(name, serving, choices):
    tp, pp, context, batch, budget = (np.array(column) for column in zip(*choices, strict=True))
    asked = replace(serving, context_tok=context, batch=batch, budget_tok=budget)
    together = figures(memory(name, serving=asked, layout=Layout(tp=tp, pp=pp)), len(choices))
    for place, (one_tp, one_pp, one_context, one_batch, one_budget) in enumerate(choices):
        asked = replace(serving, context_tok=one_context, batch=one_batch, budget_tok=one_budget)
        alone = memory(name, serving=asked, layout=Layout(tp=one_tp, pp=one_pp))
        for field in FIELDS:
            assert float(together[field][place]) == float(getattr(alone, field)), (field, choices[place])


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B", "google/gemma-3-27b-it"])
def test_many_layouts_are_the_same_as_any_of_them_alone(name):
    rng = np.random.default_rng(11)
    many = 20_000
    tp, pp = rng.choice(WIDTHS, many), rng.choice([1, 2, 4], many)
    context, batch = rng.integers(1, 131_072, many), rng.integers(1, 512, many)
    serving = Serving(context_tok=context, batch=batch)
    together = figures(memory(name, serving=serving, layout=Layout(tp=tp, pp=pp)), many)
    for place in rng.integers(0, many, 25):
        asked = Serving(context_tok=int(context[place]), batch=int(batch[place]))
        alone = memory(name, serving=asked, layout=Layout(tp=int(tp[place]), pp=int(pp[place])))
        for field in FIELDS:
            assert float(together[field][place]) == float(getattr(alone, field)), field
