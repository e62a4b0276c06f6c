"""The long verbs as programs: broken off, on full disks, into pipes that close, in odd locales."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from programs import PATIENCE_S, Bell, Program, folder_env, rigright, until, worked

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
ENDED = {130, -signal.SIGINT}
QUESTIONS, ANSWERED = 6, 3
GRID = "model,on,users\n" + "qwen3-8b,4090,1 | 2 | 3\n" * 2
RUNS = (
    "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
    "a,mine,llama.cpp,meta-llama/Meta-Llama-3-8B,rtx-4090,1,gguf:Q4_K_M,f16,single,1,0,512,"
    "decode_tok_s_per_user,99\n"
)
PLAN = ["plan", "llama-3.1-8b", "--on", "h100", "--users", "8"]


@pytest.fixture
def start(tmp_path):
    """start("plan", "x", first=...): a program that goes on; always ended."""
    with ExitStack() as running:
        yield lambda *words, **more: running.enter_context(
            Program(*words, env=folder_env(tmp_path), cwd=tmp_path, **more)
        )


@pytest.fixture
def bell():
    with Bell() as made:
        yield made


def test_a_simulation_that_is_broken_off_is_no_traceback(start):
    process = start("simulate", "llama-3.1-8b", "--on", "h100", "--rate", "100", "--requests", "3000000")
    until(lambda: worked(process.pid, 0.3), what="work")
    process.send_signal(signal.SIGINT)
    code, out, err = process.heard()
    assert code in ENDED
    assert (out, err) == ("", "")


def slept(question, *, bell, told):
    """The first questions are answered; the others are never done."""
    if question.index >= ANSWERED:
        bell.ring()
        time.sleep(10 * PATIENCE_S)
    return told(question)


def slow(bell):
    """Done first in the program: a sweep that stops after some answers."""
    from rigright.verbs.sweep import verb

    verb.answer = partial(slept, bell=bell, told=verb.answer)


def test_a_sweep_that_is_broken_off_keeps_its_answers_and_goes_on(start, bell, tmp_path):
    (tmp_path / "grid.csv").write_text(GRID, encoding="utf-8")
    process = start("sweep", "grid.csv", "--out", "out.csv", "--workers", 1, first=lambda: slow(bell))
    bell.wait()
    process.send_signal(signal.SIGINT)
    code, out, err = process.heard()
    assert code in ENDED
    assert (out, err) == ("", "")
    assert not (tmp_path / "out.csv").exists()
    goes_on(tmp_path, kept={ANSWERED}, of=QUESTIONS)


def goes_on(folder, *, kept, of):
    """The rest is answered, and what was answered is not asked again."""
    again = rigright(
        "sweep", "grid.csv", "--out", "out.csv", "--workers", 1, "--json", env=folder_env(folder), cwd=folder
    )
    assert (again.code, again.err) == (0, "")
    assert again.data["kept"] in kept
    assert len(again.data["answers"]) == of
    assert (folder / "out.csv").read_text(encoding="utf-8").count("\n") == of + 1
    assert not (folder / "out.csv.part").exists()


def test_a_sweep_of_many_processes_is_broken_off_the_same(tmp_path):
    (tmp_path / "grid.csv").write_text(GRID.replace("| 3", "| 3 | 4 | 5 | 6 | 7 | 8"), encoding="utf-8")
    journal = tmp_path / "out.csv.part"
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "rigright", "sweep", "grid.csv", "--out", "out.csv", "--workers", "2"],
        env={**folder_env(tmp_path), "PYTHONPATH": str(ROOT / "src")}, cwd=tmp_path,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip

    def lines():
        return journal.read_text(encoding="utf-8").count("\n") if journal.exists() else 0

    until(lambda: lines() > 1 or process.poll() is not None, what="an answer")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in ENDED
    assert (out, err) == (b"", b"")
    assert not (tmp_path / "out.csv").exists()
    kept = lines() - 1
    goes_on(tmp_path, kept={kept, kept - 1}, of=16)


@pytest.mark.parametrize("step", ["validate", "save"])
def test_a_calibration_that_is_broken_off_changes_nothing(start, bell, tmp_path, step):
    """While runs are predicted, and when all is known."""
    from rigright.verbs.calibrate import verb

    (tmp_path / "runs.csv").write_text(RUNS, encoding="utf-8")
    process = start(
        "calibrate", "--from", "runs.csv", "--out", "own.toml", first=lambda: bell.at(verb, step, stays=True)
    )
    bell.wait()
    process.send_signal(signal.SIGINT)
    code, out, err = process.heard()
    assert code in ENDED
    assert (out, err) == ("", "")
    assert [one.name for one in tmp_path.iterdir()] == ["runs.csv"]


@FULL
def test_a_full_disk_is_one_sentence_and_the_device_stays_one(tmp_path):
    """A device is written to and never replaced by a file of its name."""
    (tmp_path / "grid.csv").write_text("model,on,users\nllama-3.1-8b,h100,8\n", encoding="utf-8")
    (tmp_path / "runs.csv").write_text(RUNS, encoding="utf-8")
    for line in (
        ("sweep", "grid.csv", "--workers", 1, "--out", "/dev/full"),
        ("calibrate", "--from", "runs.csv", "--out", "/dev/full"),
        ("validate", "runs.csv", "--predictions", "/dev/full"),
    ):
        said = rigright(*line, env=folder_env(tmp_path), cwd=tmp_path)
        assert said.code > 0, line
        assert said.err.count("\n") == 1
        assert "No space left" in said.err
        assert stat.S_ISCHR(Path("/dev/full").stat().st_mode), line


@FULL
def test_an_answer_into_a_full_disk_is_one_sentence(start):
    for form in ((), ("--json",), ("--html",), ("--csv",)):
        with Path("/dev/full").open("wb") as full:
            code, _, err = start(*PLAN, *form, stdout=full).heard()
        assert code == 5
        assert err.count("\n") == 1
        assert "No space left" in err


def test_a_reader_that_leaves_early_is_no_error(start):
    for form in ((), ("--json",), ("--html",)):
        process = start(*PLAN, *form)
        process.stdout.close()
        code, _, err = process.heard()
        assert (code in {0, 141}, err) == (True, "")


def test_a_real_program_whose_reader_leaves_early_ends_quietly():
    """What the interpreter still writes at its end goes nowhere, too."""
    with started(*PLAN) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE_S) in {0, 141}


def started(*words, **settings):
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "rigright", *words],
        env={**folder_env(Path(os.environ["HOME"])), "PYTHONPATH": str(ROOT / "src"), **settings},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_any_locale_shows_a_plan_and_no_library_warns():
    """Chinese under a locale of ASCII, where every warning of a library would end it."""
    with started(
        *PLAN, "--lang", "zh", LC_ALL="POSIX", PYTHONIOENCODING="ascii", PYTHONWARNINGS="error"
    ) as one:
        out, err = one.communicate(timeout=PATIENCE_S)
        assert (one.returncode, err) == (0, b"")
        assert "H100" in out.decode()


def test_the_locale_chooses_the_language(tmp_path):
    for locale, chinese in (("zh_CN.UTF-8", True), ("de_DE.UTF-8", False)):
        said = rigright("look-up", "xids", "79", env=folder_env(tmp_path) | {"LC_ALL": locale})
        assert bool(re.search(r"[\u4e00-\u9fff]", said.out)) == chinese


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
