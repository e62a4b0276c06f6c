"""The long verbs as whole processes: broken off, on full disks, into pipes that close, in odd locales."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
GRID = "model,on,users\n" + "llama-3.1-8b,h100,1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12\n" * 2
RUNS = (
    "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
    "a,mine,llama.cpp,meta-llama/Meta-Llama-3-8B,rtx-4090,1,gguf:Q4_K_M,f16,single,1,0,512,"
    "decode_tok_s_per_user,99\n"
)
PLAY = ["simulate", "llama-3.1-8b", "--on", "h100", "--rate", "100", "--requests", "3000000"]
PLAN = ["plan", "llama-3.1-8b", "--on", "h100", "--users", "8"]


def start(*arguments, environment=None, **more):
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "rigright", *map(str, arguments)],
        env={
            "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C",
            "PYTHONPATH": str(ROOT / "src"), **(environment or {}),
        },
        stdin=subprocess.DEVNULL, stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def run(*arguments, **more):
    process = start(*arguments, **more)
    out, err = process.communicate(timeout=120)
    return process.returncode, (out or b"").decode(), err.decode()


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.csv"
    path.write_text(GRID, encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(RUNS, encoding="utf-8")
    return path


def broken_off(process, *, after):
    """Wait until something is under way, press the keys, and hear what is said."""
    for _ in range(600):
        if after():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


@POSIX
def test_a_simulation_that_is_broken_off_is_no_traceback():
    process = start(*PLAY)
    began = time.monotonic()
    code, out, err = broken_off(process, after=lambda: time.monotonic() - began > 1.5)
    assert code in {130, -signal.SIGINT}
    assert "Traceback" not in out + err
    assert "bug" not in err


@POSIX
@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_that_is_broken_off_keeps_its_answers_and_goes_on(grid, tmp_path, workers):
    out_file = tmp_path / "out.csv"
    journal = tmp_path / "out.csv.part"
    process = start("sweep", grid, "--out", out_file, "--workers", workers)
    code, out, err = broken_off(
        process, after=lambda: journal.exists() and journal.read_text(encoding="utf-8").count("\n") > 5
    )
    assert code in {130, -signal.SIGINT}
    assert "Traceback" not in out + err
    assert not out_file.exists()
    kept = journal.read_text(encoding="utf-8").count("\n") - 1
    code, again, err = run("sweep", grid, "--out", out_file, "--workers", 2, "--json")
    assert (code, err) == (0, "")
    data = json.loads(again)
    assert kept - 1 <= data["kept"] <= kept
    assert len(data["answers"]) == 24
    assert out_file.read_text(encoding="utf-8").count("\n") == 25
    assert not journal.exists()


@POSIX
def test_a_calibration_that_is_broken_off_changes_nothing(tmp_path, shared):
    out = tmp_path / "anchors.toml"
    process = start("calibrate", "--from", shared / "measured" / "inference.csv", "--out", out)
    began = time.monotonic()
    code, said, err = broken_off(process, after=lambda: time.monotonic() - began > 1.5)
    assert code in {0, 130, -signal.SIGINT}
    assert "Traceback" not in said + err
    assert list(tmp_path.iterdir()) in ([], [out])
    assert code == 0 or not out.exists()


@FULL
def test_a_full_disk_is_one_sentence_and_the_device_stays_one(grid, runs):
    """A device is written to and never replaced by a file of its name."""
    grid.write_text("model,on,users\nllama-3.1-8b,h100,8\n", encoding="utf-8")
    for line in (
        ("sweep", grid, "--workers", 1, "--out", "/dev/full"),
        ("calibrate", "--from", runs, "--out", "/dev/full"),
        ("validate", runs, "--predictions", "/dev/full"),
    ):
        code, _, err = run(*line)
        assert code > 0, line
        assert err.count("\n") == 1
        assert "No space left" in err
        assert stat.S_ISCHR(Path("/dev/full").stat().st_mode), line


@FULL
@pytest.mark.parametrize("form", [(), ("--json",), ("--html",), ("--csv",)])
def test_an_answer_into_a_full_disk_is_one_sentence(form):
    with Path("/dev/full").open("wb") as full:
        code, _, err = run(*PLAN, *form, stdout=full)
    assert code == 5
    assert err.count("\n") == 1
    assert "No space left" in err


@POSIX
@pytest.mark.parametrize("form", [(), ("--json",), ("--html",)])
def test_a_reader_that_leaves_early_is_no_error(form):
    process = start(*PLAN, *form)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in {0, 141}


@pytest.mark.parametrize("settings", [{"LANG": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}])
def test_any_locale_shows_a_plan(settings):
    for language in ("en", "zh"):
        code, out, err = run(*PLAN, "--lang", language, environment=settings)
        assert (code, err) == (0, "")
        assert "H100" in out


def test_the_locale_chooses_the_language():
    assert "可跑" in run(*PLAN, environment={"LANG": "zh_CN.UTF-8"})[1]
    assert " runs Llama" in run(*PLAN, environment={"LANG": "de_DE.UTF-8"})[1]


def test_no_warning_of_any_library_reaches_a_person():
    for line in (
        PLAN,
        [*PLAY[:-1], "50"],
        ["compare", "4090", "h100", "--for", "llama-3.1-8b", "--users", "8"],
    ):
        code, _, err = run(*line, environment={"PYTHONWARNINGS": "error"})
        assert (code, err) == (0, ""), line


@pytest.mark.parametrize("waits", [True, False])
def test_a_thread_that_still_reads_is_not_torn_apart_at_the_end(monkeypatch, waits):
    """The interpreter is not taken down beneath it: that ended in a crash now and then."""
    from rigright import __main__ as module
    from rigright.faces.cli import main as cli

    over, left = threading.Event(), []
    monkeypatch.setattr(cli, "main", lambda: 3)
    monkeypatch.setattr(module.os, "_exit", left.append)
    known = threading.enumerate
    monkeypatch.setattr(module.threading, "enumerate", lambda: [known()[0], *([thread] if waits else [])])
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    assert module.main() == 3
    assert left == ([3] if waits else [])
    over.set()
    thread.join()
