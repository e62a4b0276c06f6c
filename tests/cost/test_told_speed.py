"""Figures of a service and their bands: by the runs that measured them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources.open import open_model
from rigright.base.record import replace
from rigright.demand import Traffic
from rigright.facts.engines import find_engine
from rigright.facts.find import find_chip
from rigright.predict.bands import MEASURED, SERVING, STREAMS, at, case_of, subject_of, tell

LLAMA = open_model("llama-3.1-8b")


def told(figures, *, engine="vllm", chips=("h100 sxm",)):
    return tell(
        figures, arch=LLAMA, engine=find_engine(engine), chips=tuple(find_chip(chip) for chip in chips)
    )


def test_servers_and_streams_go_by_their_own_runs():
    assert subject_of(find_engine("vllm"), find_chip("h100 sxm")) == SERVING
    assert subject_of(find_engine("llama.cpp"), find_chip("4090")) == STREAMS


def test_both_tell_the_same_figures():
    assert set(MEASURED[SERVING]) == set(MEASURED[STREAMS])


@given(st.floats(1e-4, 1e3), st.sampled_from(["vllm", "llama.cpp"]))
def test_a_rate_and_its_inverse_have_inverse_bands(tpot_s, engine):
    found = told({"tpot_s": tpot_s, "user_tok_per_s": 1 / tpot_s}, engine=engine)
    slow, fast = found["tpot_s"], found["user_tok_per_s"]
    assert slow.low * fast.high == pytest.approx(1)
    assert slow.high * fast.low == pytest.approx(1)
    assert slow.low <= slow.value <= slow.high


@given(st.floats(1e-4, 1e3), st.floats(1.1, 10))
def test_a_band_grows_with_its_figure(value, factor):
    one, more = told({"ttft_s": value})["ttft_s"], told({"ttft_s": value * factor})["ttft_s"]
    assert more.low / one.low == pytest.approx(factor)
    assert more.high / one.high == pytest.approx(factor)


def test_unlike_chips_are_as_sure_as_the_least_known():
    known, mixed = told({"tpot_s": 0.02}), told({"tpot_s": 0.02}, chips=("h100 sxm", "gaudi 3"))
    alone = told({"tpot_s": 0.02}, chips=("gaudi 3",))
    assert mixed["tpot_s"].high == alone["tpot_s"].high >= known["tpot_s"].high


def test_an_endless_wait_stays_endless():
    for engine in ("vllm", "llama.cpp"):
        assert told({"ttft_s": float("inf")}, engine=engine)["ttft_s"].value == float("inf")


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_a_band_moves_with_a_value_that_was_moved_before(first, second):
    found = told({"tpot_s": first})["tpot_s"]
    moved = at(found, second)
    assert moved.value == second
    assert moved.high / moved.low == pytest.approx(found.high / found.low)


def test_a_cached_prompt_is_the_case_of_what_is_read_of_it_anew():
    sent = Traffic(prompt_tok=1000, output_tok=100, concurrency=8)
    cached = replace(sent, prompt_tok=5000, cached_tok=4000)
    cases = [case_of(traffic, "bf16", chips=1) for traffic in (sent, cached)]
    assert cases[0] == cases[1]
    assert cases[0].prompt_tok == 1000
