"""The workers themselves: no test is lost, whatever a test does to its worker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import programs
import pulse
from programs import Program, rigright

HERE = Path(__file__).parent
TESTS = """
import ctypes, os, pytest

@pytest.mark.parametrize("n", range(40))
def test_fine(n, capsys, tmp_path):
    print("line", n)
    assert capsys.readouterr().out == f"line {n}\\n"
    assert list(tmp_path.iterdir()) == []

def test_wrong():
    print("before it failed")
    assert [1, 2] == [1, 3]

def test_leaves():
    os._exit(0)

def test_breaks():
    ctypes.string_at(0)

def test_skipped():
    pytest.skip("why")
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")


@pytest.mark.parametrize("workers", [0, 3])
def test_a_worker_that_ends_fails_its_test_and_no_other_is_lost(tmp_path, workers):
    gone = [] if workers else ["--deselect", "test_x.py::test_leaves", "--deselect", "test_x.py::test_breaks"]
    (tmp_path / "test_x.py").write_text(TESTS, encoding="utf-8")
    words = (
        *(sys.executable, "-m", "pytest", "-p", "pulse", "-p", "forked", "-p", "no:randomly"),
        *("-p", "no:cacheprovider", "-n", str(workers), "-c", os.devnull, "--rootdir", str(tmp_path)),
        *(*gone, str(tmp_path / "test_x.py")),
    )
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    failed = 3 if workers else 1
    assert re.search(rf"{failed} failed, 40 passed, 1 skipped", done.stdout), done.stdout + done.stderr
    assert "before it failed" in done.stdout
    assert done.returncode == 1


def test_what_is_dear_is_dealt_first_and_whole(tmp_path):
    many = (
        "import os, pytest\n{mark}\n@pytest.mark.parametrize('n', range(30))\ndef test_one(n):\n    {said}\n"
    )
    said = f"open({str(tmp_path / 'said')!r}, 'a').write(f'{{os.getpid()}}\\n')"
    (tmp_path / "test_a.py").write_text(many.format(mark="", said="pass"), encoding="utf-8")
    text = many.format(mark="pytestmark = pytest.mark.dear", said=said)
    (tmp_path / "test_b.py").write_text(text, encoding="utf-8")
    words = ("-p", "pulse", "-p", "forked", "-p", "no:randomly", "-p", "no:cacheprovider", "-n", "3")
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *words, "-v", "-c", os.devnull, "--rootdir", tmp_path, tmp_path),
        env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "60 passed" in done.stdout
    assert len({*(tmp_path / "said").read_text().split()}) == 1
    assert done.stdout.index("test_b.py::") < done.stdout.index("test_a.py::test_one[20]")


def test_a_fork_is_a_program_of_its_own(tmp_path):
    before = Path.cwd(), dict(os.environ)
    asked = rigright("plan", "nosuch", env={"PATH": "/bin", "LC_ALL": "zh_CN.UTF-8"}, cwd=tmp_path)
    assert (asked.code, asked.out) == (2, "")
    assert re.search("[\u4e00-\u9fff]", asked.err)
    assert (Path.cwd(), dict(os.environ)) == before
    assert rigright("plan", "-", stdin="not a model").code != 0


SLEEPS = ("measure", "--every", "50ms", "--", "sh", "-c", "sleep 600 & echo $!")


def test_a_grandchild_that_holds_a_pipe_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(programs, "FAREWELL_S", 0.2)
    with Program(*SLEEPS) as program:
        done = program.heard()
    os.kill(int(done.out), signal.SIGKILL)
    assert done.code == 0
    assert "Traceback" not in done.err


def test_what_does_not_end_is_ended_and_fails_the_test():
    with Program(first=signal.pause) as program:
        with pytest.raises(subprocess.TimeoutExpired):
            program.heard(timeout=0.1)
        assert program.poll() is None
    assert program.returncode == -signal.SIGKILL


def test_what_was_read_beyond_a_line_is_not_lost():
    with Program("measure", "--", "printf", "one\\ntwo\\nthree") as program:
        assert program.stdout.readline() == b"one\n"
        assert program.heard().out == "two\nthree"


def test_last_words_that_are_lost_are_an_error():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")

    def first():
        import rigright.__main__ as module

        module.main = lambda: 0 * sys.stdout.write("a word")

    with full.open("wb") as nowhere, Program(first=first, stdout=nowhere) as program:
        done = program.heard()
    assert done.code == programs.UNFLUSHED
    assert done.err.startswith("Exception ignored in")


def test_a_fork_is_no_program_that_is_started():
    before = pulse.started[0]
    rigright("--version")
    assert pulse.started[0] == before
    subprocess.run([sys.executable, "--version"], check=True, capture_output=True)
    assert pulse.started[0] == before + 1
