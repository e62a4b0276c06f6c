"""A part that hangs, dies, babbles or fails costs itself; the one after it is measured."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rigright.base.words import say
from rigright.machine.bench import child as children
from rigright.machine.bench.child import BenchChild
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from spoken import values

HERE = Path(__file__).parent
PLAY = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    f"sys.path.append({str(HERE)!r}); "
    "from rigright.machine.bench import start; import toys; start.PARTS = toys.PARTS; start.main()"
)


@pytest.fixture
def child(monkeypatch):
    monkeypatch.setattr(children, "START", PLAY)
    found = BenchChild(sys.executable, dict(os.environ))
    yield found
    found.close()


def whats(found):
    return [one.what for one in found if isinstance(one, Result)]


def whys(found):
    """What fills the sentences on parts that were left out."""
    return [values(one.why) for one in found if isinstance(one, Skipped)]


def test_what_a_part_says_comes_back_as_records(child):
    before_s = time.time()
    result, skipped = child.run(BenchRequest(part="fine"))
    assert (result.part, result.value, result.low, result.high, result.repeats) == ("fine", 2.0, 1.0, 3.0, 3)
    assert before_s <= result.at_s <= time.time()
    assert (skipped.part, skipped.why) == ("fine", say("only one GPU"))


def test_one_process_answers_many_questions(child):
    list(child.run(BenchRequest(part="fine")))
    first = child._process.pid
    list(child.run(BenchRequest(part="fine")))
    assert child._process.pid == first


def test_a_part_that_kills_its_process_keeps_what_it_measured_and_says_its_last_words(child):
    found = list(child.run(BenchRequest(part="dies")))
    assert whats(found) == ["before"]
    assert whys(found) == [{"code": "7", "last": "the driver is gone"}]
    assert whats(child.run(BenchRequest(part="fine"))) == ["a"]


def test_a_part_that_hangs_is_ended_and_the_next_one_is_measured(child, monkeypatch):
    list(child.run(BenchRequest(part="fine")))  # it is started: its time is for the part alone
    monkeypatch.setattr(children, "GRACE_S", 1.0)
    found = list(child.run(BenchRequest(part="hangs", spare_s=0.5)))
    assert whats(found) == ["before"]
    assert whys(found) == [{"time": "2"}]
    monkeypatch.setattr(children, "GRACE_S", 20.0)
    assert whats(child.run(BenchRequest(part="fine"))) == ["a"]


def test_what_a_child_started_ends_with_it(monkeypatch):
    """Its own child holds a line to us, which ends with it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})).recv(1)"
        quiet = ", ".join(f"{name}=subprocess.DEVNULL" for name in ("stdin", "stdout", "stderr"))
        start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {held!r}], {quiet})"
        monkeypatch.setattr(children, "START", start)
        child = BenchChild(sys.executable, dict(os.environ))
        server.settimeout(60.0)
        try:
            child._started()
            line, _ = server.accept()
        finally:
            child.close()
        with line:
            line.settimeout(20.0)
            with suppress(ConnectionResetError):
                assert line.recv(1) == b""


def test_an_exception_is_told_on_one_line_and_the_process_lives_on(child):
    found = list(child.run(BenchRequest(part="raises")))
    assert whats(found) == ["before"]
    assert whys(found) == [{"why": "ValueError: first line"}]
    pid = child._process.pid
    assert [one.why for one in child.run(BenchRequest(part="refuses"))] == [say("only one GPU")]
    assert child._process.pid == pid


def test_a_card_that_failed_is_never_asked_again_by_the_same_process(child):
    found = list(child.run(BenchRequest(part="sticky")))
    assert "illegal memory access" in whys(found)[0]["why"]
    assert child._process is None


def test_what_libraries_print_is_no_answer(child):
    found = list(child.run(BenchRequest(part="talks")))
    assert whats(found) == ["a"]


def test_a_part_nobody_wrote_is_told(child):
    assert "nosuch" in whys(child.run(BenchRequest(part="nosuch")))[0]["why"]


def test_a_python_that_is_not_there_is_told():
    (found,) = BenchChild("/nowhere/python", {}).run(BenchRequest(part="fine"))
    assert set(values(found.why)) == {"why"}


def test_a_python_that_is_no_python_is_told(tmp_path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho '{broken'\n", encoding="utf-8")
    fake.chmod(0o755)
    (found,) = BenchChild(str(fake), dict(os.environ)).run(BenchRequest(part="fine"))
    assert set(values(found.why)) in ({"code"}, {"code", "last"}, {"why"})


def gone(pid):
    """Whether a process has ended; one that waits to be reaped has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in {"Z", "X"}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_when_rigright_is_killed_its_children_and_their_files_go_too(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    code = f"""
import os, sys
from rigright.machine.bench import child
from rigright.machine.bench.record import BenchRequest
child.START = {PLAY!r}
for one in child.BenchChild(sys.executable, dict(os.environ)).run(
    BenchRequest(part="starts", folder={str(folder)!r}, shown_folder={str(tmp_path)!r})
):
    print("started", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline().strip() == "started"
        pids = [int(word) for word in (tmp_path / "pids").read_text(encoding="utf-8").split()]
        assert (folder / "left").exists()
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until = time.monotonic() + 60
    while time.monotonic() < until and not (all(map(gone, pids)) and not folder.exists()):
        time.sleep(0.05)
    assert all(map(gone, pids))
    assert not folder.exists()
