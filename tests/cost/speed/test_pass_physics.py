"""A pass against physics and arithmetic done by hand: what memory, cores and wires allow on any chip."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from passes import (
    BIG,
    DEEPSEEK,
    GEMMA,
    HOPPER,
    LLAMA,
    MIXTRAL,
    MODELS,
    PARTS,
    SERVERS,
    decoding,
    one,
    rates,
    reading,
    servable,
    timed,
    total_s,
    work,
)

from rigright.arch.count import active_params, params
from rigright.cost.speed.parts import parts_of
from rigright.cost.speed.step import Pass, step
from rigright.demand import Layout
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.terms.speed import rates_of

models = st.sampled_from(MODELS)
chips = st.sampled_from([chip.id for chip in servable()])
engines = st.sampled_from(SERVERS)
seqs = st.integers(1, 512)
contexts = st.integers(1, 32_768)
ranks = st.sampled_from([1, 2, 4, 8, 16])
contents = st.one_of(
    st.builds(decoding, seqs, contexts),
    st.builds(reading, st.integers(1, 16_384)),
    st.builds(lambda one, other: one | other, st.builds(decoding, seqs, contexts),
              st.builds(reading, st.integers(1, 8192), st.integers(0, 32_768))),
)  # fmt: skip


def plain_peak(chip):
    return max(chip.plain_flops_per_s, chip.fp16_flops_per_s or 0.0)


@given(chip=chips, engine=engines, model=st.sampled_from((LLAMA, BIG)), content=contents)
def test_no_chip_multiplies_faster_than_its_sheet_says(chip, engine, model, content):
    """Two operations a weight and token, over the dense rate of the data sheet: nothing is sooner."""
    found = step(work(model), rates(chip, engine), layout=Layout(), content=Pass(**content))
    tok = content.get("prefill_tok", 0) + content.get("decode_seqs", 0)
    head = model.vocab * model.trunk.hidden
    flops = 2 * (active_params(model) - 2 * head) * tok
    assert one(found.gemm_s) >= flops / plain_peak(by_id()[chip])


@given(chip=chips, engine=engines, count=seqs, context=contexts)
def test_no_chip_reads_weights_and_caches_faster_than_its_memory(chip, engine, count, context):
    """Llama-3.1-8B: 16 bit a weight met, and 128 KiB of cache a token (8 heads, 128 wide, 32 layers, two)."""
    found = step(work(LLAMA), rates(chip, engine), layout=Layout(), content=Pass(**decoding(count, context)))
    weights = 2 * (params(LLAMA) - LLAMA.vocab * LLAMA.trunk.hidden)
    cache = count * context * 2 * 8 * 128 * 32 * 2
    bandwidth = by_id()[chip].mem_bytes_per_s
    assert one(found.gemm_s) >= weights / bandwidth * 0.99
    assert one(found.attention_s) >= cache / bandwidth
    assert one(found.memory_s) >= (weights + cache) / bandwidth * 0.99


@given(chip=chips, engine=engines, model=models, content=contents, tp=ranks, pp=st.sampled_from([1, 2, 4]))
def test_every_part_is_a_time_on_every_chip(chip, engine, model, content, tp, pp):
    found = step(work(model), rates(chip, engine), layout=Layout(tp=tp, pp=pp), content=Pass(**content))
    for name in (*PARTS, "compute_s", "memory_s"):
        assert np.isfinite(getattr(found, name)).all()
        assert (np.asarray(getattr(found, name)) >= 0).all()
    assert one(found.total_s) == pytest.approx(sum(one(getattr(found, name)) for name in PARTS))


@given(model=models, content=contents)
def test_work_takes_at_least_the_longer_of_computing_and_reading_and_at_most_both(model, content):
    found = timed(model, **content)
    worked = one(found.gemm_s) + one(found.attention_s)
    assert worked <= one(found.compute_s) + one(found.memory_s) + 1e-12
    assert worked >= max(one(found.compute_s), one(found.memory_s)) * (1 - 1e-9)


@given(chip=chips, model=models, content=contents, fewer=ranks, more=ranks)
def test_more_ranks_never_raise_what_one_of_them_computes(chip, model, content, fewer, more):
    fewer, more = sorted((fewer, more))
    few, many = (timed(model, on=chip, layout=Layout(tp=tp), **content) for tp in (fewer, more))
    for name in ("gemm_s", "attention_s", "compute_s", "memory_s"):
        assert one(getattr(many, name)) <= one(getattr(few, name)) * (1 + 1e-9), name


@given(chip=chips, model=models, content=contents)
def test_one_rank_has_nobody_to_talk_to(chip, model, content):
    assert one(timed(model, on=chip, **content).link_s) == 0
    assert one(timed(model, on=chip, layout=Layout(tp=2), **content).link_s) > 0
    assert one(timed(model, on=chip, layout=Layout(pp=2), **content).link_s) > 0


@given(model=models, content=contents, tp=ranks)
def test_wires_carry_every_layers_sums_at_their_stated_rate_at_best(model, content, tp):
    """Two sums a layer of what each token carries; in a ring each rank sends nearly twice the whole."""
    found = timed(model, layout=Layout(tp=tp), **content)
    tok = content.get("prefill_tok", 0) + content.get("decode_seqs", 0)
    size = tok * model.trunk.hidden * 2
    domain = by_id()[HOPPER].link_one_way_bytes_per_s
    layers = len(model.trunk.layers)
    assert one(found.link_s) >= 2 * layers * size * (1 - 1 / tp) / domain * 0.999


@pytest.mark.parametrize("model", [LLAMA, MIXTRAL])
@given(count=st.integers(1, 64), context=contexts)
def test_fewer_bits_a_weight_are_read_sooner(model, count, context):
    """At so few sequences reading is what takes time: the order of bits is the order of seconds."""
    times = [
        one(timed(model, weights=form, **decoding(count, context)).memory_s)
        for form in ("bf16", "fp8", "awq4")
    ]
    assert times == sorted(times, reverse=True)


@given(model=models, count=seqs, context=st.integers(64, 32_768))
def test_fewer_bits_of_cache_are_read_sooner(model, count, context):
    wide, narrow = (timed(model, kv=kv, **decoding(count, context)) for kv in ("16bit", "fp8"))
    assert one(narrow.attention_s) <= one(wide.attention_s)
    assert one(narrow.gemm_s) == one(wide.gemm_s), "weights do not care"


@given(model=models, tok=st.integers(2, 8192), seen=st.integers(0, 16_384), cut=st.floats(0.01, 0.99))
def test_a_prompt_in_two_pieces_sees_the_same_keys_and_costs_a_second_pass(model, tok, seen, cut):
    """Chunked prefill: the attention of the pieces is that of the whole; weights are read once more."""
    first = min(max(int(tok * cut), 1), tok - 1)
    whole = timed(model, **reading(tok, seen + tok / 2))
    head = timed(model, **reading(first, seen + first / 2))
    tail = timed(model, **reading(tok - first, seen + first + (tok - first) / 2))
    if model is LLAMA:
        assert one(head.attention_s) + one(tail.attention_s) == pytest.approx(
            one(whole.attention_s), rel=1e-9
        )
    pieces = one(head.total_s) + one(tail.total_s)
    assert pieces > one(whole.total_s) * 0.999


@given(count=st.integers(1, 256), context=st.integers(1, 1000), more=st.integers(1, 20_000))
def test_attention_is_linear_in_context_and_a_window_stops_it(count, context, more):
    lengths = (context, context + more, context + 2 * more)
    near, middle, far = (one(timed(**decoding(count, length)).attention_s) for length in lengths)
    assert far - middle == pytest.approx(middle - near, rel=1e-6)
    steps = [one(timed(GEMMA, **decoding(count, length)).attention_s) for length in lengths]
    assert steps[2] - steps[1] <= (steps[1] - steps[0]) * (1 + 1e-6), "windows are full, some layers stop"


@pytest.mark.parametrize("tok", [1, 3, 8, 32, 128])
def test_experts_that_are_touched_by_throwing_dice(tok):
    """Two of eight for each token: so many different ones in a thousand throws of an even router."""
    dice = np.random.default_rng(5)
    throws = dice.random((1000, tok, 8)).argsort(axis=2)[:, :, :2].reshape(1000, -1)
    thrown = np.mean([len(set(row)) for row in throws]) / 8
    plain = replace(rates(), touched=1.0, imbalance=0.0, expert_memory=1.0)
    experts = [part for part in parts_of(work(MIXTRAL), Layout()) if part.kind == "expert"]
    dense = [part for part in parts_of(work(MIXTRAL), Layout()) if part.kind != "expert"]
    found = step(work(MIXTRAL), plain, layout=Layout(), content=Pass(**decoding(tok, 0)))
    read = one(found.memory_s * plain.mem_bytes_per_s) - sum(one(part.size_bytes) for part in dense)
    assert read / sum(one(part.size_bytes) for part in experts) == pytest.approx(thrown, rel=0.03)


@given(tok=st.integers(1, 4096), more=st.integers(1, 4096))
def test_more_tokens_touch_more_experts_and_never_more_than_there_are(tok, more):
    whole = sum(one(part.size_bytes) for part in parts_of(work(MIXTRAL), Layout())) / one(
        rates().mem_bytes_per_s
    )
    few, many = (one(timed(MIXTRAL, **decoding(count, 0)).memory_s) for count in (tok, tok + more))
    assert few <= many * (1 + 1e-12)
    assert many <= whole / min(one(rates().expert_memory), 1) * 1.0001


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tp", [1, 2, 4, 8])
@pytest.mark.parametrize("ep", [False, True])
def test_ranks_hold_every_weight_at_least_once_and_copies_only_of_what_cannot_be_cut(model, tp, ep):
    layout = Layout(tp=tp, ep=tp if ep else 1)
    held = sum(one(part.elems) for part in parts_of(work(model), layout)) * tp
    alone = sum(one(part.elems) for part in parts_of(work(model), Layout()))
    assert alone * (1 - 1e-9) <= held <= alone * 1.1
    for part in parts_of(work(model), layout):
        assert one(part.size_bytes) / one(part.elems) < 2.1, "16 bit an element"


@given(
    model=models,
    counts=st.lists(seqs, min_size=1, max_size=4),
    lengths=st.lists(contexts, min_size=1, max_size=4),
    cuts=st.lists(ranks, min_size=1, max_size=3),
)
def test_loads_lengths_and_cuts_against_each_other_are_as_one_by_one(model, counts, lengths, cuts):
    """Three axes at once: broadcasting is a loop that nobody has to write."""
    grid = timed(
        model,
        layout=Layout(tp=np.array(cuts, dtype=float)),
        decode_seqs=np.array(counts, dtype=float)[:, None, None],
        decode_context_tok=np.array(lengths, dtype=float)[:, None],
    ).total_s
    assert grid.shape == (len(counts), len(lengths), len(cuts))
    for row, count in enumerate(counts):
        for column, length in enumerate(lengths):
            for place, tp in enumerate(cuts):
                alone = timed(model, layout=Layout(tp=tp), **decoding(count, length)).total_s
                assert grid[row, column, place] == one(alone)


def test_all_chips_in_one_call_are_each_alone():
    listed = servable()
    together = rates_of(listed, find_engine("vllm"), weights="bf16")
    times = step(work(LLAMA), together, layout=Layout(), content=Pass(**decoding(8, 1000))).total_s
    assert times.shape == (len(listed),)
    for chip, time in zip(listed, times, strict=True):
        assert time == total_s(on=chip.id, **decoding(8, 1000)), chip.id


def test_a_chip_with_more_of_everything_is_never_slower():
    """The same class of chip: H200 is an H100 with more memory, GH200 the same beside its own host."""
    for content in (decoding(1, 1000), decoding(64, 4000), reading(4096)):
        assert total_s(on="h200-sxm-141gb", **content) <= total_s(**content) * 1.05
        assert total_s(on="a100-sxm4-80gb", **content) > total_s(**content)


@given(count=seqs, context=contexts, each=st.integers(1, 8))
def test_a_pass_with_drafts_is_no_longer_than_as_many_passes(count, context, each):
    """What drafting is for: the weights are read once for several tokens."""
    drafted = total_s(DEEPSEEK, decode_each_tok=each, **decoding(count, context))
    plain = total_s(DEEPSEEK, **decoding(count, context))
    assert plain <= drafted * (1 + 1e-12)
    assert drafted <= each * plain * (1 + 1e-9)


@given(tok=st.integers(1, 20_000), ep=st.sampled_from([2, 4, 8]))
def test_ranks_with_experts_of_their_own_wait_for_the_fullest(tok, ep):
    """Never less than an even share of them; nor more than if one rank had all that is touched."""
    even = replace(rates(HOPPER, "vllm", "fp8"), imbalance=0.0, narrow_width=0.0)
    content = Pass(decode_seqs=float(tok), decode_context_tok=1.0)
    spread, cut = (
        one(step(work(MIXTRAL, "fp8", "fp8"), even, layout=Layout(tp=8, ep=ranks), content=content).gemm_s)
        for ranks in (ep, 1)
    )
    assert cut * 0.999 <= spread <= cut * ep


def test_chance_evens_out_with_many_tokens():
    even = replace(rates(HOPPER, "vllm", "fp8"), imbalance=0.0, narrow_width=0.0)

    def lost(tok):
        content = Pass(decode_seqs=float(tok), decode_context_tok=1.0)
        times = [
            one(step(work(MIXTRAL, "fp8", "fp8"), even, layout=Layout(tp=8, ep=ep), content=content).gemm_s)
            for ep in (8, 1)
        ]
        return times[0] / times[1]

    assert lost(2) > 1.3
    assert lost(100_000) < 1.02
