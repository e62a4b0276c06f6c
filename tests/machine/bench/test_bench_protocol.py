"""The line between rigright and a child: no word is taken for a figure, nobody waits for ever."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import say
from rigright.machine.bench import child as children
from rigright.machine.bench.child import BenchChild, _read
from rigright.machine.bench.record import SIZES, BenchRequest, Result, Skipped, same_job
from rigright.machine.bench.tasks import Deadline, brief
from rigright.machine.stored import plain
from spoken import values

RESULT = Result(part="x", what="a", on="cpu", value=2.0, unit="s", low=1.0, high=3.0, repeats=3)
GOOD = json.dumps({"result": plain(RESULT)})
DONE = json.dumps({"done": "x"})
posix = pytest.mark.skipif(os.name == "nt", reason="process groups and pipes of Unix")


@pytest.fixture
def said(monkeypatch):
    """What comes of a child that is this piece of Python; `send(text)` answers."""
    began = []

    def run(code, *, spare_s=0.1, grace_s=60.0, end=None):
        prelude = (
            "import sys, os, json, time\n"
            "ask = json.loads(sys.stdin.readline())\n"
            f"good, done = {GOOD!r}, {DONE!r}\n"
            "def send(text):\n sys.stdout.write(text + '\\n'); sys.stdout.flush()\n"
        )
        monkeypatch.setattr(children, "START", prelude + code)
        monkeypatch.setattr(children, "GRACE_S", grace_s)
        child = BenchChild(sys.executable, dict(os.environ))
        began.append(child)
        return list(child.run(BenchRequest(part="x", spare_s=spare_s), end))

    yield run
    for child in began:
        child.close()


def whys(found):
    """What fills the sentences on parts that were left out."""
    return [values(one.why) for one in found if isinstance(one, Skipped)]


@pytest.mark.parametrize(
    "noise",
    [
        "send('Welcome to site.py'); send('[1, 2]'); send('3'); send('{')",
        "os.write(1, bytes(range(256)) * 20 + b'\\n'); os.write(1, b'\\xff\\xfe\\n')",
        "send('x' * 9_000_000); send('[' * 200_000)",
        "send('[' * 100_000 + ']' * 100_000)",
        "send(json.dumps({'result': 3})); send(json.dumps({'result': {'part': 'x'}}))",
        "send(json.dumps({'skipped': None})); send(json.dumps({'else': 1}))",
    ],
    ids=["words", "no text", "a line without end", "nested without end", "another shape", "other keys"],
)
def test_what_is_no_answer_is_passed_over(said, noise):
    assert said(f"send(good); {noise}; send(good); send(done)") == [RESULT, RESULT]


@posix
def test_a_child_that_chatters_for_ever_is_ended_at_its_time(said):
    found = said("while True: send('noise')", grace_s=0.2)
    assert whys(found) == [{"time": "0"}]


@posix
def test_chatter_without_a_line_end_fills_no_memory(said):
    found = said("while True: os.write(1, b'x' * 65536)", grace_s=0.2)
    assert len(whys(found)) == 1


@posix
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "os.write(2, b'y' * 3_000_000 + b'\\nthe last word\\n'); os._exit(3)",
            {"code": "3", "last": "the last word"},
        ),
        ("os.write(2, b'\\xff\\xfeend\\n'); os._exit(1)", {"code": "1", "last": "\ufffd\ufffdend"}),
        ("os._exit(0)", {"code": "0"}),
        ("os.close(1); time.sleep(60)", {"code": "None"}),
    ],
)
def test_how_a_child_ended_is_told_and_what_it_measured_is_kept(said, code, told):
    result, lost = said(f"send(good); {code}")
    assert result == RESULT
    assert values(lost.why) == told


@posix
def test_a_child_that_stops_itself_is_ended_at_its_time(said):
    (why,) = whys(said("import signal; os.kill(os.getpid(), signal.SIGSTOP)", grace_s=0.4))
    assert set(why) == {"time"}


@posix
def test_a_child_that_ignores_polite_signals_is_ended_all_the_same(said):
    code = (
        "import signal\n"
        "for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)\n"
        "send(good); time.sleep(60)"
    )
    found = said(code, grace_s=3.0)
    assert found[0] == RESULT
    assert len(whys(found)) == 1


def test_the_end_of_all_ends_a_part_before_its_own_time(said):
    found = said("time.sleep(60)", spare_s=1000.0, grace_s=1000.0, end=Deadline.of(0.2))
    assert [set(why) for why in whys(found)] == [{"time"}]


def test_a_clock_that_is_set_back_or_on_makes_nobody_late(said, monkeypatch):
    jumps = iter([-1e9, 1e9] * 1000)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    assert said("time.sleep(0.3); send(good); send(done)") == [RESULT]


@posix
def test_no_thread_and_no_process_stays_behind_a_child_that_floods(said):
    before = threading.active_count()
    said("while True: os.write(1, b'{}\\n' * 10_000)", grace_s=0.2)
    until = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert threading.active_count() <= before


@posix
def test_a_question_broken_off_in_the_middle_leaves_no_process(monkeypatch):
    monkeypatch.setattr(children, "START", f"print({GOOD!r}, flush=True); import time; time.sleep(60)")
    child = BenchChild(sys.executable, dict(os.environ))
    going = child.run(BenchRequest(part="x"))
    assert next(going) == RESULT
    process = child._process
    going.close()
    child.close()
    del going
    gc.collect()
    assert process.poll() is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["result", "skipped", "done", "x"]), json_values, max_size=3))
def test_any_answer_gives_records_or_nothing(answer):
    assert all(isinstance(one, Result | Skipped) for one in _read(answer))


@given(st.sampled_from(sorted(field for field in plain(RESULT))), json_values)
def test_a_result_with_one_field_of_anything_is_a_record_or_nothing(name, value):
    for one in _read({"result": plain(RESULT) | {name: value}}):
        assert isinstance(one, Result)
        assert isinstance(one.part, str)
        assert isinstance(one.value, float)


texts = st.text(max_size=12)
pairs = st.lists(st.tuples(texts, texts), max_size=4).map(tuple)


@given(texts, texts, st.floats(0, 1e18), pairs, st.none() | texts)
def test_every_record_comes_through_the_line_as_it_was(part, what, value, told, chip):
    one = replace(RESULT, part=part, what=what, value=value, settings=told, chip=chip, notes=(say("done"),))
    assert list(_read(json.loads(json.dumps({"result": plain(one)})))) == [one]


# ---- an error on one line


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("first\nsecond"), "ValueError: first"),
        (KeyError(), "KeyError"),
        (RuntimeError("  x " * 400), "RuntimeError: " + ("x   " * 400)[:200].strip()),
        (OSError(28, "No space left on device", "/data/x"), "No space left on device: /data/x"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("no number"), "OSError: no number"),
    ],
)
def test_an_error_is_told_on_one_line(error, told):
    assert brief(error) == told


@given(st.text(max_size=500))
def test_any_error_fits_a_line(text):
    told = brief(RuntimeError(text))
    assert len(told) < 230
    assert told.startswith("RuntimeError")


# ---- what makes two figures one job


def test_another_version_or_link_is_the_same_job_and_another_size_is_not():
    disk = replace(RESULT, settings=(("file", "256 MiB"), ("tool", "fio-3.33"), ("torch", "2.9")))
    later = replace(disk, value=9.0, settings=(("file", "256 MiB"), ("tool", "fio-3.36"), ("torch", "2.10")))
    large = replace(disk, settings=(("file", "10.0 GiB"), ("tool", "fio-3.33")))
    assert same_job(disk, later)
    assert not same_job(disk, large)
    assert not same_job(disk, replace(disk, what="b"))
    narrow = replace(disk, settings=(*disk.settings, ("pcie_lanes", "8")))
    assert same_job(disk, narrow)  # a link that lost its lanes is what a drift shall show


@given(st.lists(st.tuples(st.sampled_from([*sorted(SIZES), "torch", "tool"]), texts), max_size=5).map(tuple))
def test_a_job_is_itself_and_the_order_of_its_settings_does_not_count(pairs):
    one = replace(RESULT, settings=pairs)
    assert same_job(one, one)
    assert same_job(one, replace(one, settings=pairs[::-1]))
