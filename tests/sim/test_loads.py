"""Loads that are made up keep to what was asked; traces are read row by row, whatever stands in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import DataError
from rigright.demand import Traffic
from rigright.sim.load import MOST_LISTED, PROCESSES, Arrivals, lengths, made_load, read_trace
from spoken import values

TRAFFIC = Traffic(prompt_tok=800, output_tok=200, rate_per_s=5.0, prompt_spread=0.5, output_spread=0.3)
HEAD = "request,arrival_s,prompt_tok,output_tok\n"


def gaps(kind, **more):
    load = made_load(TRAFFIC, count=20_000, process=Arrivals(kind=kind, **more), seed=1)
    return load, np.diff(load.arrival_s)


@pytest.mark.parametrize("kind", sorted(PROCESSES))
def test_every_process_brings_the_rate_that_was_asked(kind):
    load, between = gaps(kind, period_s=400.0)
    assert (between >= 0).all()
    assert load.arrival_s[0] == 0
    assert load.rate_per_s == pytest.approx(5, rel=0.06)


def test_gaps_spread_as_their_process_says():
    assert np.std(gaps("poisson")[1]) * 5 == pytest.approx(1, rel=0.05)
    assert np.std(gaps("gamma", spread=2.0)[1]) * 5 == pytest.approx(2, rel=0.08)
    assert np.std(gaps("gamma", spread=0.0)[1]) == pytest.approx(0, abs=1e-9)
    assert (gaps("burst", burst=10)[1] == 0).mean() == pytest.approx(0.9, abs=0.01)


def test_a_day_has_its_top_and_its_low():
    load, _ = gaps("diurnal", period_s=1000.0)
    phase = load.arrival_s % 1000 / 1000
    busy, quiet = ((phase > 0.25) & (phase < 0.75)).mean(), ((phase < 0.25) | (phase > 0.75)).mean()
    assert max(busy, quiet) > 2 * min(busy, quiet)


@given(mean=st.integers(1, 5000), spread=st.floats(0, 2), seed=st.integers(0, 2**32))
def test_lengths_are_whole_and_at_least_one(mean, spread, seed):
    drawn = lengths(np.random.default_rng(seed), 50, mean=mean, spread=spread)
    assert (drawn >= 1).all()
    assert drawn.dtype.kind == "i"


def test_lengths_keep_their_mean_and_spread():
    drawn = lengths(np.random.default_rng(0), 100_000, mean=1000, spread=0.5)
    assert drawn.mean() == pytest.approx(1000, rel=0.01)
    assert drawn.std() == pytest.approx(500, rel=0.02)


def test_the_same_seed_throws_the_same_dice():
    one, same, other = (made_load(TRAFFIC, count=50, process=Arrivals(), seed=seed) for seed in (7, 7, 8))
    assert (one.arrival_s == same.arrival_s).all()
    assert (one.prompt_tok == same.prompt_tok).all()
    assert (one.arrival_s != other.arrival_s).any()


def read(text):
    return read_trace(text.splitlines(keepends=True), "t.csv")


def test_a_trace_out_of_order_is_played_in_order_and_told_in_its_own():
    found = read(HEAD + "b,2.0,10,5\na,1.0,20,6\n")
    assert list(found.load.arrival_s) == [1.0, 2.0]
    assert found.names == ("b", "a")
    assert found.places.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("x,-,10,5", "arrival_s"), ("x,1,0,5", "prompt_tok"), ("x,1,10,2.5", "output_tok"),
        ("x,1,10,", "output_tok"), ("x,inf,10,5", "arrival_s"), ("x,1,1e300,5", "prompt_tok"),
        ("x,1,nan,5", "prompt_tok"), ("x,1,-3,5", "prompt_tok"), ("x", "arrival_s"),
    ],
)  # fmt: skip
def test_a_broken_row_is_named_and_the_rest_is_read(row, column):
    found = read(HEAD + "a,1.0,20,6\n" + row + "\n")
    assert found.load.count == 1
    assert len(found.names) == 2
    told = values(found.notes[0])
    assert (told["file"], told["line"], told["column"]) == ("t.csv", "3", column)


def test_many_broken_rows_are_counted_and_not_all_told():
    found = read(HEAD + "a,1.0,20,6\n" + "x,y,z,w\n" * 30)
    assert len(found.notes) == MOST_LISTED + 1
    assert str(found.notes[-1]).startswith("25 ")


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", HEAD, HEAD + "x,y,z,w\n", "arrival_s\n1\n"])
def test_what_holds_no_request_is_an_error(text):
    with pytest.raises(DataError):
        read(text)


@given(st.text(max_size=300), st.booleans())
def test_whatever_stands_there_is_a_trace_or_a_sentence(text, headed):
    try:
        found = read(HEAD + text if headed else text)
    except DataError:
        return
    assert (found.load.prompt_tok >= 1).all()
    assert np.isfinite(found.load.arrival_s).all()
