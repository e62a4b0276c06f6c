"""From repeated times to results, a part's tasks one after another, and the rate of the wires."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import DataError, MissingError
from rigright.base.words import say
from rigright.machine.bench.parts.collectives import bus_factor
from rigright.machine.bench.tasks import (
    Deadline,
    Task,
    measure,
    program_output,
    program_results,
    rate,
    spread,
    taken,
    timed,
)
from spoken import values

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


# ---- tasks


def task(what, *, fails=None, **more):
    def run(_spare_s):
        if fails is not None:
            raise fails
        yield taken(times_s=[1.0])

    return Task(what=what, on="gpu 0", run=run, **more)


def test_what_fails_costs_itself_and_is_named():
    tasks = [
        task("a"),
        task("b", fails=ValueError("no")),
        task("c", fails=MissingError(say("done"))),
        task("d"),
    ]
    a, b, c, d = measure(tasks, Deadline.of(60.0))
    assert [(one.what, one.on, one.unit) for one in (a, d)] == [("a", "gpu 0", "s"), ("d", "gpu 0", "s")]
    assert values(b.why) == {"what": "b", "on": "gpu 0", "why": "ValueError: no"}
    assert c.why == say("done")


def test_a_card_that_failed_is_not_asked_for_more():
    going = measure([task("a"), task("b", fails=RuntimeError("CUDA error: x")), task("c")], Deadline.of(60.0))
    assert next(going).what == "a"
    with pytest.raises(RuntimeError, match="CUDA error"):
        next(going)


def test_what_time_ran_out_for_is_named_and_what_takes_a_moment_is_measured():
    tasks = [task("a"), task("b", always=True), task("c"), task("c")]
    measured, late = measure(tasks, Deadline.of(0.0))
    assert measured.what == "b"
    assert values(late.why) == {"what": "a, c"}
    measured, late = measure([task("a"), task("b", least_s=100.0)], Deadline.of(60.0))
    assert (measured.what, values(late.why)) == ("a", {"what": "b"})


def test_each_task_gets_its_share_of_what_is_left(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("rigright.machine.bench.tasks.time.monotonic", lambda: clock[0])
    spare = []

    def run(spare_s):
        spare.append(spare_s)
        clock[0] += 10.0
        return ()

    tasks = [Task(what="a", on="cpu", run=run, most_s=most_s) for most_s in (1e9, 20.0, 1e9)]
    assert list(measure(tasks, Deadline.of(90.0))) == []
    assert spare == [30.0, 20.0, 70.0]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("print('x')", None),
        ("import sys; sys.exit('a\\nlast word')", "last word"),
        ("raise SystemExit(3)", "3"),
    ],
)
def test_the_last_word_of_a_program_that_fails_is_told(code, told):
    command = [sys.executable, "-c", code]
    if told is None:
        assert program_output(command, patience_s=60.0) == "x\n"
        return
    with refused(DataError, told):
        program_output(command, patience_s=60.0)


def test_a_program_that_prints_no_figure_is_told():
    with refused(DataError, sys.executable):
        program_results([sys.executable, "-c", "print(3)"], lambda _text: [], patience_s=60.0)


def test_a_program_that_hangs_is_not_waited_for():
    with refused(DataError, sys.executable):
        program_output([sys.executable, "-c", "import time; time.sleep(60)"], patience_s=0.2)


# nccl-tests' own documentation: performance of collectives
@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 8, 1.75),
        ("all_gather", 8, 0.875),
        ("reduce_scatter", 4, 0.75),
        ("all_to_all", 8, 0.875),
    ],
)
def test_the_factors_are_those_of_nccl_tests(collective, ranks, factor):
    assert bus_factor(collective, ranks) == pytest.approx(factor)


@given(st.integers(min_value=2, max_value=4096))
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(ranks):
    whole = bus_factor("all_reduce", ranks)
    assert whole == pytest.approx(bus_factor("reduce_scatter", ranks) + bus_factor("all_gather", ranks))
    assert 1.0 <= whole < 2.0
