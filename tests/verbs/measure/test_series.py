"""One quantity for as long as it takes: the room stays, the peak too."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.verbs.measure.ticks import MOST_BINS, MeasuredSeries


def series(values):
    made = MeasuredSeries()
    for value in values:
        made.add(value)
    return made


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_of_few_samples_all_is_exact(values):
    made = series(values)
    assert made.peak == max(values)
    assert made.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert made.median == statistics.median(values)
    assert made.highest == tuple(values)


@given(st.integers(MOST_BINS, 20 * MOST_BINS), st.integers(0, 10**6))
def test_of_many_samples_the_room_stays_and_no_peak_is_lost(count, where):
    values = [1.0] * count
    values[where % count] = 9.0
    made = series(values)
    assert len(made.highest) <= MOST_BINS + 1
    assert made.peak == max(made.highest) == 9.0
    assert made.median == 1.0


def test_what_was_not_observed_is_a_gap_and_no_zero():
    made = series([None, 4.0, None])
    assert made.highest == (None, 4.0, None)
    assert made.mean == made.median == 4.0
