"""Time of one pass, as laws: nothing is free, more work takes no less time, one is an array of one."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.count import active_params, params
from rigright.arch.sources import zoo
from rigright.cost.speed.parts import parts_of
from rigright.cost.speed.step import Pass, step
from rigright.demand import Layout
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.terms.speed import rates_of, work_of

LLAMA = zoo.arch("meta-llama/Llama-3.1-8B")
BIG = zoo.arch("meta-llama/Llama-3.1-70B")
MIXTRAL = zoo.arch("mistralai/Mixtral-8x7B-v0.1")
DEEPSEEK = zoo.arch("deepseek-ai/DeepSeek-V3")
GEMMA = zoo.arch("google/gemma-3-27b-it")
GPT_OSS = zoo.arch("openai/gpt-oss-120b")
MODELS = (LLAMA, MIXTRAL, DEEPSEEK, GEMMA, GPT_OSS)
FORMATS = ("bf16", "fp8", "nvfp4", "awq4")

models = st.sampled_from(MODELS)
formats = st.sampled_from(FORMATS)
seqs = st.integers(1, 512)
contexts = st.integers(1, 32_768)
tps = st.sampled_from((1, 2, 4, 8))


def chips(*names):
    return [find_node(name).cards[0].chip for name in names]


def rates(*names, engine="vllm", weights="bf16", **changes):
    return rates_of(chips(*names or ("h100 sxm",)), find_engine(engine), weights=weights, **changes)


def total(model=LLAMA, layout=None, weights="bf16", kv="16bit", on="h100 sxm", **content):
    work = work_of(model, weights=weights, kv=kv)
    found = step(work, rates(on, weights=weights), layout=layout or Layout(), content=Pass(**content))
    return float(np.ravel(found.total_s)[0])


def decode(model=LLAMA, seqs=1, context=1000, **changes):
    return total(model, decode_seqs=seqs, decode_context_tok=context, **changes)


def prefill(model=LLAMA, tok=1000, **changes):
    return total(model, prefill_tok=tok, prefill_seen_tok=tok / 2, prefill_seqs=1, **changes)


@given(models, formats, seqs, contexts, tps)
def test_every_part_takes_time_and_the_pass_is_their_sum(model, weights, count, context, tp):
    work = work_of(model, weights=weights, kv="16bit")
    content = Pass(decode_seqs=count, decode_context_tok=context)
    found = step(work, rates(weights=weights), layout=Layout(tp=tp), content=content)
    parts = [getattr(found, item.name) for item in fields(found)]
    assert all(np.all(np.isfinite(part) & (part >= 0)) for part in parts)
    summed = found.gemm_s + found.attention_s + found.link_s + found.fixed_s
    assert found.total_s == pytest.approx(summed)
    assert np.all(found.fixed_s > 0)


@given(models, formats, seqs, contexts, st.integers(1, 64), st.integers(1, 4096))
def test_more_sequences_and_longer_ones_take_no_less(model, weights, count, context, more, longer):
    first = decode(model, count, context, weights=weights)
    assert decode(model, count + more, context, weights=weights) >= first
    assert decode(model, count, context + longer, weights=weights) >= first


@given(models, formats, st.integers(16, 8192), st.integers(1, 4096))
def test_a_longer_prompt_takes_longer(model, weights, tok, more):
    assert prefill(model, tok + more, weights=weights) > prefill(model, tok, weights=weights)


@given(models, formats, st.lists(st.tuples(seqs, contexts, tps), min_size=1, max_size=6))
def test_a_number_equals_an_array_of_one_to_the_bit(model, weights, asked):
    work = work_of(model, weights=weights, kv="fp8")
    reached = rates(weights=weights)
    counts, lengths, cuts = (np.array(column, dtype=float) for column in zip(*asked, strict=True))
    many = step(
        work, reached, layout=Layout(tp=cuts), content=Pass(decode_seqs=counts, decode_context_tok=lengths)
    )
    for place, (count, context, tp) in enumerate(asked):
        one = step(
            work,
            reached,
            layout=Layout(tp=tp),
            content=Pass(decode_seqs=count, decode_context_tok=context),
        )
        assert np.ravel(one.total_s)[0] == many.total_s[place]


def test_chips_stand_against_layouts_as_rows_against_columns():
    work = work_of(BIG, weights="fp8", kv="fp8")
    cards = ("h100 sxm", "b200 sxm", "l40s")
    both = rates(*cards, weights="fp8")
    flat = ("wire",)
    stood = replace(
        both,
        **{
            item.name: getattr(both, item.name)[:, None]
            for item in fields(both)
            if item.name not in flat and np.ndim(getattr(both, item.name))
        },
        wire=replace(
            both.wire,
            **{
                item.name: getattr(both.wire, item.name)[:, None]
                for item in fields(both.wire)
                if np.ndim(getattr(both.wire, item.name))
            },
        ),
    )
    content = Pass(decode_seqs=16, decode_context_tok=2000)
    found = step(work, stood, layout=Layout(tp=np.array([1.0, 2, 4, 8])), content=content).total_s
    assert found.shape == (3, 4)
    for row, card in enumerate(cards):
        for column, tp in enumerate((1, 2, 4, 8)):
            alone = step(work, rates(card, weights="fp8"), layout=Layout(tp=tp), content=content)
            assert found[row, column] == np.ravel(alone.total_s)[0]


@given(models, formats)
def test_a_pass_reads_no_faster_than_memory_and_counts_no_faster_than_the_chip(model, weights):
    """Physics: neither bandwidth nor peak of the data sheet is beaten, whatever was fitted."""
    chip = chips("h100 sxm")[0]
    work = work_of(model, weights=weights, kv="16bit")
    found = step(
        work, rates(weights=weights), layout=Layout(), content=Pass(prefill_tok=4096, prefill_seqs=1)
    )
    flops = 2 * active_params(model) * 4096
    fastest = max(chip.fp8_flops_per_s or 0, chip.bf16_flops_per_s)
    assert np.ravel(found.gemm_s)[0] > 0.9 * flops / fastest * 0.9
    once = decode(model, weights=weights)
    dense = sum(gemm.size_bytes for gemm in work.gemms if not gemm.experts)
    assert once > dense / chip.mem_bytes_per_s


def test_one_token_reads_every_weight_once():
    """An 8B model of 16 bit on 3.35 TB/s: 4.5 ms at the least, and no engine takes twice that."""
    assert 4.5e-3 < decode() < 9e-3


def test_tensor_parallelism_is_not_free():
    halves = [decode(BIG, weights="fp8", layout=Layout(tp=tp)) for tp in (1, 2, 4, 8)]
    assert all(later < first for first, later in pairwise(halves))
    assert all(later > first / 2 for first, later in pairwise(halves))


def test_over_pcie_eight_may_be_slower_than_four():
    times = {tp: prefill(LLAMA, 512, on="rtx 3090", layout=Layout(tp=tp)) for tp in (1, 2, 4, 8)}
    assert times[8] > times[4]


def test_few_tokens_touch_few_experts():
    """Eight experts a token of 256: one sequence reads a small part of them, 256 read nearly all."""
    work = work_of(DEEPSEEK, weights="fp8-block", kv="fp8")
    bytes_all = sum(part.size_bytes for part in parts_of(work, Layout()) if part.kind == "expert")
    reads = {}
    for count in (1, 16, 256):
        found = step(
            work,
            rates("h200", weights="fp8-block"),
            layout=Layout(),
            content=Pass(decode_seqs=count, decode_context_tok=1),
        )
        reads[count] = float(np.ravel(found.memory_s)[0])
    assert reads[1] < 0.2 * reads[256]
    assert reads[1] < reads[16] < reads[256]
    assert bytes_all > 600e9


def test_latents_are_read_whole_by_every_rank():
    """Tensor parallelism cuts heads, not latents: the cache takes as long to read with eight ranks."""
    long = {"decode_seqs": 256, "decode_context_tok": 30_000}
    work = work_of(DEEPSEEK, weights="fp8-block", kv="fp8")
    one, eight = (
        step(work, rates("h200", weights="fp8-block"), layout=Layout(tp=tp), content=Pass(**long))
        for tp in (1, 8)
    )
    gqa = work_of(BIG, weights="fp8", kv="fp8")
    gqa_one, gqa_eight = (
        step(gqa, rates("h200", weights="fp8"), layout=Layout(tp=tp), content=Pass(**long)) for tp in (1, 8)
    )
    assert np.ravel(one.attention_s / eight.attention_s)[0] < 6
    assert np.ravel(gqa_one.attention_s / gqa_eight.attention_s)[0] == pytest.approx(8, rel=1e-6)


def test_ranks_with_their_own_sequences_read_a_part_of_the_caches_each():
    together, apart = Layout(tp=8, ep=8), Layout(tp=8, ep=8, attention_dp=True)
    long = {"model": DEEPSEEK, "weights": "fp8-block", "kv": "fp8", "on": "h200"}
    assert decode(seqs=512, context=8000, layout=apart, **long) < decode(
        seqs=512, context=8000, layout=together, **long
    )
    assert decode(seqs=1, context=100, layout=apart, **long) > decode(
        seqs=1, context=100, layout=together, **long
    )


def test_a_window_ends_the_growth_of_attention():
    near, far = (decode(GEMMA, 64, context) for context in (20_000, 40_000))
    plain_near, plain_far = (decode(LLAMA, 64, context) for context in (20_000, 40_000))
    assert far / near < plain_far / plain_near


def test_narrow_weights_are_read_faster_and_half_caches_too():
    assert decode(weights="fp8") < decode(weights="bf16")
    assert decode(weights="awq4") < decode(weights="fp8")
    assert decode(seqs=256, context=8000, kv="fp8") < decode(seqs=256, context=8000, kv="16bit")


def test_a_format_the_chip_cannot_multiply_gains_nothing_in_prompts():
    """Weights of 4 bit are turned into 16 bit on the way: prompts gain nothing."""
    assert prefill(tok=8192, weights="awq4") > 0.9 * prefill(tok=8192, weights="bf16")
    assert prefill(tok=8192, weights="fp8") < 0.84 * prefill(tok=8192, weights="bf16")  # as Hopper runs
    assert prefill(tok=8192, weights="fp8", on="a100 sxm4 80gb") > 0.9 * prefill(
        tok=8192, weights="bf16", on="a100 sxm4 80gb"
    )


def test_a_quarter_of_the_layers_waits_for_nobody():
    """A pipeline takes a micro-batch through all stages: no faster than one chip, hardly slower."""
    alone = decode(BIG, 16, weights="fp8", on="h200")
    staged = decode(BIG, 16, weights="fp8", on="h200", layout=Layout(pp=4))
    assert alone <= staged < 1.1 * alone


def test_drafted_tokens_cost_little_while_memory_is_the_limit():
    plain, drafted = decode(seqs=4), decode(seqs=4, decode_each_tok=4)
    assert plain < drafted < 1.3 * plain


@pytest.mark.parametrize("model", MODELS)
def test_work_holds_every_matrix_and_no_other(model):
    work = work_of(model, weights="bf16", kv="16bit")
    held = sum(gemm.elems for gemm in work.gemms)
    assert 0.85 * params(model) < held <= 1.02 * params(model)


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_ranks_hold_the_whole_together(tp):
    work = work_of(BIG, weights="fp8", kv="fp8")
    alone, cut = (sum(part.elems for part in parts_of(work, Layout(tp=ranks))) for ranks in (1, tp))
    assert cut * tp == pytest.approx(alone, rel=1e-6)


def test_terms_can_be_handed_in():
    """Calibration moves terms without a file in between."""
    from rigright.facts.corrections import corrections

    tables = corrections("speed_serving")
    slower = dict(tables) | {"chips": dict(tables["chips"]) | {"h100-sxm5-80gb": {"memory": 0.1}}}
    usual, slow = rates(), rates(tables=slower)
    assert slow.mem_bytes_per_s[0] < 0.2 * usual.mem_bytes_per_s[0]
