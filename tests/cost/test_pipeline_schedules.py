"""The share of a step that stages wait, against schedules played operation by operation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from schedules import BACKWARD, FORWARD, WEIGHTS, gpipe, interleaved, makespan, one_f_one_b, zero_bubble

from rigright.arch.read import read_config
from rigright.demand import Layout, Training
from rigright.facts.chips import by_id
from rigright.predict.trained import steps
from rigright.terms.training import set_up, training_rates

stages = st.sampled_from([1, 2, 3, 4, 6, 8])
rounds = st.integers(1, 6)
part = st.floats(0.1, 3.0)


@cache
def headless(layers=48):
    """Layers alike and next to no vocabulary: every stage has the same work."""
    config = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 8}
    config |= {"num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": layers}
    return read_config(config, "stages")


def bubble_share(schedule, *, pp, micros, chunks=1, recompute="none"):
    """Waiting over working, as the law tells it; wires and the host cost nothing here."""
    training = Training(
        trainer="megatron", seq_tok=4096, accumulate=micros, schedule=schedule, virtual_stages=chunks,
        recompute=recompute,
    )  # fmt: skip
    arch = headless()
    rates = training_rates([by_id()["h100-sxm5-80gb"]], set_up(training, hidden=4096))
    free = replace(rates, layer_s=0.0, expert_s=0.0, step_s=0.0, pp_bare=0.0, spread=0.0)
    found = steps(arch, training, layout=Layout(pp=pp), rates=free)
    worked = found.forward_s + found.backward_s + found.recompute_s
    return float(np.ravel(found.bubble_s / worked)[0])


def played(orders, seconds, *, pp, micros, chunks=1):
    """Waiting over working of the busiest stage, played."""
    worked = micros * sum(seconds.values())
    return makespan(orders, seconds, stages=pp, chunks=chunks) / worked - 1


@given(pp=stages, micros=st.integers(1, 24), forward=part, backward=part)
def test_gpipe_and_1f1b_wait_as_long_as_the_law_says(pp, micros, forward, backward):
    seconds = {FORWARD: forward, BACKWARD: backward}
    expected = (pp - 1) / micros
    assert played(gpipe(pp, micros), seconds, pp=pp, micros=micros) == pytest.approx(expected)
    assert played(one_f_one_b(pp, micros), seconds, pp=pp, micros=micros) == pytest.approx(expected)


@given(pp=stages, micros=st.integers(1, 24), schedule=st.sampled_from(["gpipe", "1f1b"]))
def test_the_law_is_the_schedule(pp, micros, schedule):
    orders = gpipe(pp, micros) if schedule == "gpipe" else one_f_one_b(pp, micros)
    found = played(orders, {FORWARD: 1.0, BACKWARD: 2.0}, pp=pp, micros=micros)
    assert bubble_share(schedule, pp=pp, micros=micros) == pytest.approx(found, abs=2e-3)


@given(pp=st.sampled_from([2, 3, 4, 6, 8]), groups=rounds, chunks=st.sampled_from([1, 2, 3]))
def test_interleaving_divides_the_wait_by_the_chunks_of_a_stage(pp, groups, chunks):
    assume(48 % (pp * chunks) == 0)
    micros = pp * groups
    seconds = {FORWARD: 1.0, BACKWARD: 2.0}
    found = played(interleaved(pp, micros, chunks), seconds, pp=pp, micros=micros, chunks=chunks)
    assert found == pytest.approx((pp - 1) / micros / chunks)
    law = bubble_share("interleaved", pp=pp, micros=micros, chunks=chunks)
    assert law == pytest.approx(found, abs=2e-3)


@given(pp=st.sampled_from([2, 3, 4, 6, 8]), groups=st.integers(2, 6))
def test_gradients_of_weights_fill_two_thirds_of_the_wait(pp, groups):
    """Forward, gradients of inputs and of weights alike: each a third of the work, only one third waits."""
    micros = pp * groups
    seconds = {FORWARD: 1.0, BACKWARD: 1.0, WEIGHTS: 1.0}
    found = played(zero_bubble(pp, micros), seconds, pp=pp, micros=micros)
    assert found == pytest.approx((pp - 1) / micros / 3, rel=1e-6)
    assert bubble_share("zero-bubble", pp=pp, micros=micros) == pytest.approx(found, abs=2e-3)


@given(
    pp=stages, micros=st.integers(1, 64), more=st.integers(1, 64),
    schedule=st.sampled_from(["gpipe", "1f1b", "interleaved", "zero-bubble"]),
    recompute=st.sampled_from(["none", "full"]),
)  # fmt: skip
def test_more_micro_batches_never_wait_a_larger_share(pp, micros, more, schedule, recompute):
    few, many = (
        bubble_share(schedule, pp=pp, micros=count, recompute=recompute) for count in (micros, micros + more)
    )
    assert many <= few + 1e-9
    assert (few > 1e-9) == (pp > 1)


@given(micros=st.integers(8, 64), schedule=st.sampled_from(["gpipe", "1f1b", "zero-bubble"]))
def test_more_stages_never_wait_less(micros, schedule):
    waits = [bubble_share(schedule, pp=pp, micros=micros) for pp in (1, 2, 4, 8)]
    assert waits == sorted(waits)
    assert waits[0] == pytest.approx(0, abs=1e-9)


def test_stages_that_are_not_alike_wait_for_the_fullest():
    uneven = bubble_share("1f1b", pp=5, micros=16)
    assert uneven > bubble_share("1f1b", pp=4, micros=16), "48 layers over 5 stages: 10, 10, 10, 10, 8"
    assert uneven >= 4 / 16 - 1e-9
