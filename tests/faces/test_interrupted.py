"""A Ctrl-C at any moment of a start ends it with 130 and without a word."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = re.search(r"^START='(.*?)'$", (ROOT / "rig").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
PRESSED = """
import atexit, os, signal, sys, weakref

def press(*_):
    os.kill(os.getpid(), signal.SIGINT)

class Keys:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            {how}

class Named:
    def __set_name__(self, owner, name):
        press()

class Gone:
    pass

def dropped():
    gone = Gone()
    kept = weakref.ref(gone, press)
    del gone

sys.meta_path.insert(0, Keys())
"""


def interrupted(folder, module, how="press()"):
    return started(folder, PRESSED.replace("{module!r}", repr(module)).replace("{how}", how))


def started(folder, first):
    """A plan by `rig`, with code that runs before any of ours."""
    (folder / "sitecustomize.py").write_text(first, encoding="utf-8")
    line = ("plan", "qwen3-8b", "--on", "rtx 4090")
    return subprocess.run(
        [sys.executable, "-P", "-S", "-c", START, *line],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT / "src")))},
        capture_output=True,
        text=True,
        check=False,
    )


@POSIX
@pytest.mark.parametrize(
    "module",
    [
        *("rigright", "rigright.__main__", "rigright.faces.cli.main", "rigright.faces.cli.asks.plan"),
        *("rigright.verbs.plan", "numpy", "rigright.report.formats.text"),
    ],
)
def test_while_a_module_is_loaded(tmp_path, module):
    done = interrupted(tmp_path, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@POSIX
@pytest.mark.parametrize(
    "how",
    ["dropped()", "type('Made', (), {'it': Named()})"],
    ids=["where it is dropped", "where it is wrapped"],
)
def test_where_python_makes_something_else_of_it(tmp_path, how):
    done = interrupted(tmp_path, "rigright.verbs.plan", how)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@POSIX
def test_while_the_interpreter_is_taken_apart(tmp_path):
    done = interrupted(tmp_path, "rigright.verbs.plan", "atexit.register(press)")
    assert (done.returncode, done.stderr) == (130, "")
    assert "RTX 4090" in done.stdout


@POSIX
def test_before_any_code_of_ours(tmp_path):
    done = started(tmp_path, f"import os; os.kill(os.getpid(), {int(signal.SIGINT)})")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@POSIX
def test_who_is_deaf_to_it_stays_deaf(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = interrupted(tmp_path, "rigright.verbs.plan")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.returncode, done.stderr) == (0, "")
