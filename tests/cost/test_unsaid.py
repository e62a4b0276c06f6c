"""What is unsaid widens a band, moves the figure to the middle, and the answer names what decides."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.cost.unsaid import Prior, integrated
from rigright.terms.fitted import priors

RANK = Prior(name="rank", values=(8, 16, 64), weights=(0.3, 0.4, 0.3), option="--rank")
SEQ = Prior(name="seq", values=(512, 2048, 8192), weights=(0.3, 0.4, 0.3), option="--seq")
SIZE = st.floats(0.01, 100)


def peak(inputs):
    return 4 + inputs["rank"] / 64 + inputs["seq"] / 1024


def test_the_figure_stands_at_the_middle_and_what_decides_is_named():
    found = integrated(peak, [RANK, SEQ])
    assert found.value == pytest.approx(4 + 16 / 64 + 2)
    assert found.decides.prior.option == "--seq"
    assert found.decides.least == pytest.approx(4 + 16 / 64 + 0.5)
    assert found.decides.most == pytest.approx(4 + 16 / 64 + 8)
    assert found.low < found.decides.least * 1.001
    assert found.high > found.decides.most * 0.999


def test_with_everything_said_the_band_is_as_it_was():
    found = integrated(lambda _: 10.0, [], band=(0.8, 1.3))
    assert (found.value, found.decides) == (10.0, None)
    assert (found.low, found.high) == pytest.approx((8.0, 13.0))


def test_an_unordered_choice_takes_the_median_of_what_it_gives():
    kernels = Prior(name="kernel", values=("a", "b", "c"), weights=(0.2, 0.2, 0.6))
    rates = {"a": 1.0, "b": 8.0, "c": 2.0}
    found = integrated(lambda inputs: rates[inputs["kernel"]], [kernels])
    assert found.value == pytest.approx(2.0)
    assert (found.low, found.high) == pytest.approx((1.0, 8.0))


def test_values_that_cannot_be_are_passed_over():
    found = integrated(lambda inputs: math.nan if inputs["seq"] > 4000 else inputs["seq"], [SEQ])
    assert math.isfinite(found.high)


@given(SIZE, SIZE, st.floats(0.3, 1.0), st.floats(1.0, 3.0))
def test_saying_more_never_widens(one, two, low, high):
    def figure(inputs):
        return one * inputs["rank"] ** 0.3 + two * inputs["seq"]

    less = integrated(figure, [RANK, SEQ], band=(low, high))
    more = integrated(lambda inputs: figure({**inputs, "rank": 16}), [SEQ], band=(low, high))
    assert less.low / less.value <= more.low / more.value * (1 + 1e-9)
    assert less.high / less.value >= more.high / more.value * (1 - 1e-9)


def test_every_prior_of_the_table_can_be_taken():
    for work in ("serving", "training"):
        for prior in priors(work).values():
            assert len(prior.values) == len(prior.weights)
            assert min(prior.weights) > 0
            assert prior.middle in prior.values
