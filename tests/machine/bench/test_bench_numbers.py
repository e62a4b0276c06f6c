"""From repeated times to results, and from a collective's time to the rate of the wires."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import AskError
from rigright.machine.bench.parts.collectives import bus_factor
from rigright.machine.bench.tasks import Deadline, rate, spread, taken, timed

TIMES = st.lists(st.floats(min_value=1e-6, max_value=1e3), min_size=1, max_size=30)


@given(TIMES, st.floats(min_value=1, max_value=1e15))
def test_a_rate_lies_between_its_least_and_its_most(times, work):
    found = rate("x", on="cpu", work=work, times_s=times, unit="bytes_per_s")
    assert found.low <= found.value * (1 + 1e-12)
    assert found.value <= found.high * (1 + 1e-12)
    assert found.repeats == len(times)
    assert found.value == pytest.approx(work / statistics.median(times))


@given(TIMES)
def test_a_time_is_the_median_of_its_repeats(times):
    found = taken("x", on="cpu", times_s=times)
    assert replace(found, at_s=0) == replace(spread("x", on="cpu", values=times, unit="s"), at_s=0)
    assert (found.low, found.value, found.high) == (min(times), statistics.median(times), max(times))
    assert found.unit == "s"


def test_what_is_late_is_still_measured_a_few_times():
    calls = []
    assert len(timed(lambda: calls.append(1), Deadline.of(0.0))) == len(calls) == 3


def test_what_is_fast_is_not_measured_for_ever():
    assert len(timed(lambda: None, Deadline.of(60.0), most=7)) == 7


def test_a_deadline_runs_out_and_stays_so():
    until = Deadline.of(0.02)
    assert 0 < until.left_s() <= 0.02
    assert not until.is_over()
    time.sleep(0.03)
    assert until.left_s() == 0.0
    assert until.is_over()


# nccl-tests' own documentation: performance of collectives
@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 8, 1.75),
        ("all_gather", 8, 0.875),
        ("reduce_scatter", 4, 0.75),
        ("all_to_all", 8, 0.875),
        ("broadcast", 8, 1.0),
        ("reduce", 8, 1.0),
    ],
)
def test_the_factors_are_those_of_nccl_tests(collective, ranks, factor):
    assert bus_factor(collective, ranks) == pytest.approx(factor)


@given(st.integers(min_value=2, max_value=4096))
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(ranks):
    whole = bus_factor("all_reduce", ranks)
    assert whole == pytest.approx(bus_factor("reduce_scatter", ranks) + bus_factor("all_gather", ranks))
    assert 1.0 <= whole < 2.0


def test_a_collective_nobody_knows_is_an_error():
    with refused(AskError, "all_broken"):
        bus_factor("all_broken", 8)
