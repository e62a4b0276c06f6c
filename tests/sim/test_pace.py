"""The cheap function is the law itself on its points, and near it between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from players import BASE_S, CONTEXT_S, PAIR_S, TOKEN_S, law

from rigright.arch.sources.open import open_model
from rigright.cost.speed.step import Pass
from rigright.demand import Layout
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node
from rigright.predict.passes import law_of
from rigright.sim.pace import FINE, Pace, grid, pace_of
from rigright.terms.speed import rates_of, work_of

TOY = Pace(law, most_seqs=64, most_tok=2048, most_context=16384)


@pytest.fixture(scope="module", params=[("llama-3.1-8b", "1x h100", 1), ("qwen3-30b-a3b", "2x 4090", 2)])
def real(request):
    model, machine, tp = request.param
    work = work_of(open_model(model), weights="bf16", kv="16bit")
    rates = rates_of([find_node(machine).cards[0].chip], find_engine("vllm"), weights="bf16")
    found = law_of(work, rates, layout=Layout(tp=tp))
    return found, pace_of(found, max_seqs=256, budget_tok=2048, context_tok=8192)


def one(found, **content):
    names = ("prefill_tok", "prefill_seen_tok", "prefill_seqs", "decode_seqs", "decode_context_tok")
    return float(found(Pass(**{name: np.array([float(content.get(name, 0))]) for name in names}))[0])


def test_on_its_points_it_is_the_law_of_a_pass(real):
    found, pace = real
    for seqs in (1, 2, 16, 256):
        for context in (1, 64, 1024, 8192):
            told = one(found, decode_seqs=seqs, decode_context_tok=context)
            assert pace.decode_s(seqs, seqs * context) == pytest.approx(told, rel=1e-9)
    for tok, seen in ((1, 1), (64, 512), (2048, 1024)):
        for seqs, context in ((0, 0), (8, 512)):
            told = one(found, prefill_tok=tok, prefill_seen_tok=seen, prefill_seqs=1,
                       decode_seqs=seqs, decode_context_tok=context)  # fmt: skip
            mine = pace.pass_s(tok, seen, prompts=1, seqs=seqs, context_tok=seqs * context)
            assert mine == pytest.approx(told, rel=1e-9)


def test_between_its_points_it_is_near_the_law(real):
    found, pace = real
    dice = np.random.default_rng(3)
    for _ in range(60):
        seqs, context = int(dice.integers(1, 256)), float(dice.integers(1, 8000))
        tok, seen = int(dice.integers(1, 2048)), float(dice.integers(1, 6000))
        told = one(found, decode_seqs=seqs, decode_context_tok=context)
        assert pace.decode_s(seqs, seqs * context) == pytest.approx(told, rel=0.01)
        told = one(found, prefill_tok=tok, prefill_seen_tok=seen, prefill_seqs=2,
                   decode_seqs=seqs, decode_context_tok=context)  # fmt: skip
        assert pace.pass_s(tok, seen, prompts=2, seqs=seqs, context_tok=seqs * context) == pytest.approx(
            told, rel=0.03
        )


@given(
    seqs=st.integers(1, 64), held=st.integers(1, 4000), beats=st.integers(1, 400), gap=st.floats(0.001, 20)
)
def test_a_stride_is_its_passes_one_by_one(seqs, held, beats, gap):
    done, took = TOY.stride(seqs, seqs * held, beats=beats, gap_s=gap)
    singles = [TOY.decode_s(seqs, seqs * (held + beat)) for beat in range(beats)]
    ends = np.cumsum(singles)
    needed = min(int(np.searchsorted(ends, gap * (1 - 1e-12))) + 1, beats)
    assert abs(done - needed) <= (0 if abs(ends[needed - 1] - gap) > 1e-9 else 1)
    assert took == pytest.approx(ends[done - 1], rel=1e-9)


def test_a_law_that_is_linear_is_told_exactly():
    for tok, seen, seqs, context in ((100, 333, 7, 1234), (2000, 50, 63, 9999), (3, 3, 0, 0)):
        told = BASE_S + TOKEN_S * (tok + seqs) + CONTEXT_S * seqs * context + PAIR_S * tok * seen
        mine = TOY.pass_s(tok, seen, prompts=1, seqs=seqs, context_tok=seqs * context)
        assert mine == pytest.approx(told, rel=1e-9)


def test_micro_batches_of_a_pipeline_share_what_there_is():
    two = Pace(law, most_seqs=32, most_tok=512, most_context=4096, rounds=2)
    assert two.decode_s(32, 32 * 100) == pytest.approx(one(law, decode_seqs=16, decode_context_tok=100))
    alone = two.pass_s(400, 200, prompts=1, seqs=0, context_tok=0)
    both = two.pass_s(800, 200, prompts=1, seqs=0, context_tok=0)
    assert alone == pytest.approx(one(law, prefill_tok=400, prefill_seen_tok=200, prefill_seqs=1))
    assert both == pytest.approx(alone)


@given(most=st.integers(1, 100_000))
def test_a_grid_rises_and_reaches_its_end(most):
    points = grid(most, FINE)
    assert points[:2] == [0.0, 1.0]
    assert points[-1] == max(most, 1)
    assert all(later > earlier for earlier, later in pairwise(points))


@given(tok=st.integers(1, 8192), low=st.floats(0, 1), high=st.floats(0, 1))
def test_a_prompt_goes_through_a_pipeline_as_far_at_once_as_is_told(tok, low, high):
    """All at once its passes take the time of one; not at all, one after the other."""
    low, high = sorted((low, high))
    chunk, rounds = 512, 4

    def spent(overlap):
        pace = Pace(law, most_seqs=8, most_tok=chunk, most_context=8192, rounds=rounds, overlap=overlap)
        return pace.pass_s(min(tok, chunk * rounds), 0.0, prompts=1, seqs=0, context_tok=0)

    parts = -(-min(tok, chunk * rounds) // chunk)
    assert spent(high) <= spent(low) * (1 + 1e-12)
    assert spent(0.0) == pytest.approx(parts * spent(1.0))
