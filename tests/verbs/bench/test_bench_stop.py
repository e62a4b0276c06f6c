"""Broken off at any moment: what was measured is kept, told and saved, and nothing is left behind."""

# ruff: noqa: ARG001 - played parts bear the names of the real ones
from __future__ import annotations

import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import say
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.history.store import open_history
from rigright.machine.record import Machine
from rigright.verbs.bench import verb
from rigright.verbs.bench.record import read_results
from rigright.verbs.bench.verb import BenchWish, Keep, Stop, bench

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals as Unix sends them")
BOTH = (signal.SIGINT, signal.SIGTERM)
PARTS = ("ram", "disk", "network")


def interrupt(number=signal.SIGINT):
    os.kill(os.getpid(), number)
    for _ in range(1000):  # a signal is heard between two steps of the program
        pass


def figures(part):
    return [
        Result(part=part, what=f"{part} {index}", on="cpu", value=1.0, unit="s", low=1, high=1, repeats=1)
        for index in range(2)
    ]


def script():
    """Every step of a run, in order: a part begins, its figures, a part left out."""
    steps = []
    for index, part in enumerate(PARTS):
        steps.append(("begin", part, index))
        steps += [("figure", one, 0) for one in figures(part)]
    return steps


def played(broken_at, number):
    def measured(names, wish, *, machine, env, progress, began_s):
        for place, (kind, thing, index) in enumerate(script()):
            if place == broken_at:
                interrupt(number)
            if kind == "begin":
                progress(thing, (index, len(names)))
            else:
                yield thing

    return measured


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("RIGRIGHT_HOME", str(folder))
        patch.setattr(verb, "probe", lambda _: Machine())
        yield patch, folder


@given(st.integers(0, len(script()) + 1), st.sampled_from(BOTH))
def test_at_every_moment_what_was_measured_is_kept_and_the_rest_named(home, broken_at, number):
    patch, folder = home
    patch.setattr(verb, "measured", played(broken_at, number))
    file = folder / f"saved{broken_at}.json"
    made = bench(*PARTS, keep=Keep(save=str(file), history=False))
    expected = [thing for kind, thing, _ in script()[:broken_at] if kind == "figure"]
    assert [one.result for one in made.results] == expected
    assert made.stopped == (broken_at < len(script()))
    assert list(read_results(str(file)).results) == expected
    told = {one.result.part for one in made.results} | {one.part for one in made.skipped}
    assert told == set(PARTS)
    assert signal.getsignal(number) is not signal.SIG_IGN


@pytest.mark.parametrize("number", BOTH)
def test_a_second_signal_while_figures_are_kept_waits_until_they_are(home, number):
    patch, folder = home
    patch.setattr(verb, "measured", played(2, signal.SIGINT))
    kept = verb._remembered

    def slowly(machine, results):
        interrupt(number)
        interrupt(number)
        return kept(machine, results)

    patch.setattr(verb, "_remembered", slowly)
    file = folder / "twice.json"
    made = bench(*PARTS, keep=Keep(save=str(file)))
    patch.setattr(verb, "_remembered", kept)
    assert made.stopped
    assert file.exists()
    with open_history() as history:
        assert [one.what for one in history.last_results(Machine())] == ["ram 0"]


def test_a_first_signal_while_figures_are_kept_loses_none_and_is_no_break(home):
    patch, _ = home
    patch.setattr(verb, "measured", played(-1, signal.SIGINT))
    kept = verb._kept

    def interrupted(made, results, *, keep, planned):
        interrupt()
        return kept(made, results, keep=keep, planned=planned)

    patch.setattr(verb, "_kept", interrupted)
    made = bench(*PARTS, keep=Keep(history=False))
    patch.setattr(verb, "_kept", kept)
    assert not made.stopped
    assert len(made.results) == 2 * len(PARTS)


# ---- the listener itself


@pytest.mark.parametrize("number", BOTH)
def test_the_first_one_interrupts_and_the_second_does_not(number):
    with Stop():
        with pytest.raises(KeyboardInterrupt):
            interrupt(number)
        interrupt(number)
        interrupt(signal.SIGTERM)


def test_while_it_waits_nothing_interrupts():
    with Stop() as stop:
        stop.waits = True
        for number in BOTH:
            interrupt(number)


@pytest.mark.parametrize("number", BOTH)
def test_handlers_are_as_they_were_however_it_ends(number):
    before = signal.getsignal(number)
    with Stop():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before
    with pytest.raises(ValueError, match="own"), Stop():
        raise ValueError("own")
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Stop():
            interrupt(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_a_thread_of_a_server_no_signal_is_touched():
    import threading

    before = signal.getsignal(signal.SIGINT)
    seen = []

    def inside():
        with Stop():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_run_in_which_all_is_left_out_is_no_break(home):
    patch, _ = home

    def measured(names, wish, *, machine, env, progress, began_s):
        yield Skipped(part="ram", why=say("done"))

    patch.setattr(verb, "measured", measured)
    made = bench("ram", wish=BenchWish(quick=True), keep=Keep(history=False))
    assert (made.stopped, made.results, len(made.skipped)) == (False, (), 1)
