"""`bench` as a process: broken off, listening for a peer, asked by a script; nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

from programs import Program, until

posix = pytest.mark.skipif(os.name == "nt", reason="signals are sent as terminals of Unix send them")


@pytest.fixture
def env(tmp_path):
    found = {**os.environ, "RIGRIGHT_HOME": str(tmp_path / "home"), "LC_ALL": "C.UTF-8"}
    found.pop("OPENBLAS_NUM_THREADS", None)
    return found


def start(*words, env, cwd):
    return Program("bench", *words, env=env, cwd=cwd)


@posix
def test_whoever_breaks_it_off_keeps_the_figures_and_finds_no_file_of_it(tmp_path, env):
    words = ("network", "memmap", "disk", "--time", "10min", "--json", "--save", "../saved.json")
    for number in (signal.SIGINT, signal.SIGTERM):
        work = tmp_path / number.name / "work"
        work.mkdir(parents=True)
        with start(*words, env=env, cwd=work) as process:
            until(lambda work=work: any(one.name.startswith(".rigright-bench-") for one in work.iterdir()))
            time.sleep(0.3)
            process.send_signal(number)
            done = process.heard()
        told = done.data
        assert done.code == 130, done.err
        assert told["stopped"]
        assert told["skipped"], "what was not measured is named"
        assert list(work.iterdir()) == []
        saved = json.loads((work.parent / "saved.json").read_text(encoding="utf-8"))
        assert len(saved["results"]) == len(told["results"])


@posix
def test_two_of_them_measure_the_wire_between_them(tmp_path, env):
    """And a script that asks gets JSON, no progress, and no file where it wants none."""
    with start("--listen", "127.0.0.1:0", env=env, cwd=tmp_path) as listening:
        port = re.search(r"127\.0\.0\.1:(\d+)", listening.stderr.readline().decode())[1]
        words = ("network", "--quick", "--json", "--no-history", "--peer", f"127.0.0.1:{port}")
        with start(*words, env=env, cwd=tmp_path) as asking:
            done = asking.heard()
        told = done.data
        assert (done.code, done.err) == (0, "")
        assert [one["on"] for one in told["results"]] == [f"127.0.0.1:{port}"] * 3
        assert told["history"] is None
        assert not (tmp_path / "home").exists()
        listening.send_signal(signal.SIGINT)
        assert listening.wait() == 130


def test_a_peer_that_is_not_there_is_told_and_is_no_failure_of_the_tool(tmp_path, env):
    words = ("network", "--quick", "--json", "--no-history", "--peer", "127.0.0.1:9", "--lang", "en")
    with start(*words, env=env, cwd=tmp_path) as process:
        done = process.heard()
    told = done.data
    assert done.code == 0
    assert told["results"] == []
    assert "`rigright bench --listen`" in told["skipped"][0]["why"]
