"""`bench` as a process: broken off, listening for a peer, asked by a script; nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

posix = pytest.mark.skipif(os.name == "nt", reason="signals are sent as terminals of Unix send them")


@pytest.fixture
def env(tmp_path):
    found = {**os.environ, "RIGRIGHT_HOME": str(tmp_path / "home"), "LC_ALL": "C.UTF-8"}
    found.pop("OPENBLAS_NUM_THREADS", None)
    return found


def start(*words, env, cwd, **more):
    command = [sys.executable, "-m", "rigright", "bench", *words]
    return subprocess.Popen(
        command, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def wait_for(true, patience_s=30.0):
    until = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_breaks_it_off_keeps_the_figures_and_finds_no_file_of_it(tmp_path, env, number):
    work = tmp_path / "work"
    work.mkdir()
    words = ("network", "memmap", "disk", "--time", "10min", "--json", "--save", "../saved.json")
    with start(*words, env=env, cwd=work) as process:
        wait_for(lambda: any(one.name.startswith(".rigright-bench-") for one in work.iterdir()))
        time.sleep(1.0)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    told = json.loads(out)
    assert told["stopped"]
    assert "interrupted" in " ".join(one["why"] for one in told["skipped"])
    assert list(work.iterdir()) == []
    saved = json.loads((tmp_path / "saved.json").read_text(encoding="utf-8"))
    assert len(saved["results"]) == len(told["results"])


def test_a_script_gets_json_and_no_progress(tmp_path, env):
    words = ("network", "--quick", "--json", "--no-history")
    with start(*words, env=env, cwd=tmp_path) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    told = json.loads(out)
    assert [one["on"] for one in told["results"]] == ["loopback"] * 3
    assert told["history"] is None
    assert not (tmp_path / "home").exists()


@posix
def test_two_of_them_measure_the_wire_between_them(tmp_path, env):
    with start("--listen", "127.0.0.1:0", env=env, cwd=tmp_path) as listening:
        try:
            told = listening.stderr.readline()
            port = re.search(r"listening on 127\.0\.0\.1:(\d+)", told).group(1)
            words = ("network", "--quick", "--json", "--peer", f"127.0.0.1:{port}")
            with start(*words, env=env, cwd=tmp_path) as asking:
                out, _ = asking.communicate(timeout=120)
            assert {one["on"] for one in json.loads(out)["results"]} == {f"127.0.0.1:{port}"}
        finally:
            listening.send_signal(signal.SIGINT)
            listening.wait(10)
        assert listening.returncode == 130


def test_a_peer_that_is_not_there_is_told_and_is_no_failure_of_the_tool(tmp_path, env):
    words = ("network", "--quick", "--json", "--no-history", "--peer", "127.0.0.1:9", "--lang", "en")
    with start(*words, env=env, cwd=tmp_path) as process:
        out, _ = process.communicate(timeout=120)
    told = json.loads(out)
    assert process.returncode == 0
    assert told["results"] == []
    assert "run `rigright bench --listen` there" in told["skipped"][0]["why"]
