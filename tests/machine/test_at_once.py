"""Several things at once: everything is done, in order, whatever fails."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.machine.at_once import at_once


@given(st.lists(st.integers(), max_size=40), st.integers(1, 8))
def test_what_comes_back_is_in_order(things, most):
    assert at_once(lambda one: one * 2, things, most=most) == [2 * one for one in things]


def test_it_is_at_once_and_no_more_than_that_many():
    """Three wait for each other, which one after another they never could; of six threads never four."""
    meet, inside, most = threading.Barrier(3, timeout=10), [], []

    def act(_):
        inside.append(1)
        most.append(len(inside))
        meet.wait()
        inside.pop()

    at_once(act, range(6), most=3)
    assert max(most) == 3


def test_the_first_that_fails_is_told_when_all_are_done():
    done = []

    def act(one):
        done.append(one)
        if one in {2, 5}:
            raise ValueError(one)

    with pytest.raises(ValueError, match="2"):
        at_once(act, range(8), most=4)
    assert sorted(done) == list(range(8))
