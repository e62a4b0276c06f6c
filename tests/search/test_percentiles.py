"""Limits that hold for a share of requests: between the known shares, and beyond them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.demand import PlanWish
from rigright.search.figures import at_percentile
from rigright.search.serving import find_serving

SHARES = st.floats(0.01, 0.999)
WAITS = st.lists(st.floats(0.0, 100.0), min_size=3, max_size=3).map(sorted)


def served(waits):
    return {
        "ttft_s": np.array([7.0]),
        **{f"ttft_p{share}_s": np.array([wait]) for share, wait in zip((50, 95, 99), waits, strict=True)},
        "tpot_s": np.array([0.02]),
        "tpot_p95_s": np.array([0.05]),
    }


@given(waits=WAITS, shares=st.tuples(SHARES, SHARES).map(sorted))
def test_more_requests_never_wait_less(waits, shares):
    less, more = (at_percentile(served(waits), "ttft_s", percentile=share)[0] for share in shares)
    assert less <= more * (1 + 1e-12) + 1e-12


def test_known_shares_are_told_as_they_are():
    found = served([1.0, 4.0, 6.0])
    for share, wait in ((0.5, 1.0), (0.95, 4.0), (0.99, 6.0)):
        assert at_percentile(found, "ttft_s", percentile=share)[0] == pytest.approx(wait)
    assert at_percentile(found, "ttft_s", percentile=0.3)[0] == 1.0, "nobody is told less than half wait"
    assert at_percentile(found, "ttft_s", percentile=None)[0] == 7.0


def test_an_exponential_wait_is_met_everywhere():
    """Of waits that thin out evenly every share is known from three of them."""
    found = served([-np.log(1 - share) for share in (0.5, 0.95, 0.99)])
    for share in (0.6, 0.8, 0.9, 0.97, 0.995):
        assert at_percentile(found, "ttft_s", percentile=share)[0] == pytest.approx(-np.log(1 - share))


def test_a_queue_that_only_grows_has_no_percentile():
    endless = served([1.0, np.inf, np.inf])
    assert at_percentile(endless, "ttft_s", percentile=0.9)[0] == np.inf
    assert at_percentile(served([np.inf] * 3), "ttft_s", percentile=0.97)[0] == np.inf
    assert at_percentile(endless, "ttft_s", percentile=0.5)[0] == 1.0


def test_a_stricter_share_takes_as_much_machine(llama8, market):
    wish = {"on": "8x h100", "users": 64, "prompt_tok": 2048, "output_tok": 256}
    first = [
        find_serving(llama8, PlanWish(percentile=share, aim="ttft", **wish), market=market).plans[0]
        for share in (0.5, 0.8, 0.9, 0.95)
    ]
    waits = [plan.figures["ttft_s"].value for plan in first]
    assert waits == sorted(waits)
    assert waits[1] < waits[3], "between the known shares, not the next one above"
