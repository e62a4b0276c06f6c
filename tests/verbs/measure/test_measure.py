"""A command runs as if nobody stood between; what it took is told beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import programs
from desk import quiet
from rigright.machine import command

TICK = "✓".encode()
RIG = (sys.executable, "-m", "rigright", "measure")


def run(*argv, **more):
    return programs.run("measure", *argv, **more)


def started(*argv, **more):
    """With an interpreter of its own, where its memory and its environment are looked at."""
    return subprocess.run([*RIG, *argv], capture_output=True, check=False, **more)


def python(code):
    return ("--", sys.executable, "-c", code)


def test_output_is_the_commands_alone_to_the_byte():
    done = run(*python("import sys; sys.stdout.buffer.write(bytes(range(256)))"))
    assert done.stdout == bytes(range(256))
    assert TICK in done.stderr, "what it took stands beside it"
    assert done.returncode == 0


def test_input_reaches_the_command():
    done = run(*python("import sys; print(sys.stdin.read()[::-1])"), stdin=b"abc")
    assert done.stdout.strip() == b"cba"


def test_options_behind_the_dashes_are_the_commands():
    done = run(*python("import sys; print(sys.argv[1:])"), "--json", "--lang", "zh", "--", "-x")
    assert done.stdout.decode().strip() == "['--json', '--lang', 'zh', '--', '-x']"
    assert TICK in done.stderr


def test_the_exit_code_is_the_commands():
    for code in (1, 255):
        assert run("--", "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_a_command_that_is_killed_tells_by_what_as_a_shell_does():
    done = run(*python("import os; os.kill(os.getpid(), 9)"))
    assert done.returncode == 128 + 9
    assert b"SIGKILL" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT], ids=lambda one: one.name)
def test_a_signal_reaches_the_command_once_and_what_it_took_is_told(number):
    code = (
        "import signal, sys, time\n"
        "seen = []\n"
        "for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):\n"
        "    signal.signal(number, lambda got, frame: seen.append(got))\n"
        "print('ready', flush=True)\n"
        "until = time.monotonic() + 60\n"
        "while not seen and time.monotonic() < until: time.sleep(0.02)\n"
        "time.sleep(0.1)\n"
        "print(len(seen), int(seen[0]), flush=True)\n"
        "sys.exit(7)\n"
    )
    with programs.Program("measure", *python(code)) as process:
        assert process.stdout.readline().strip() == b"ready"
        process.send_signal(number)
        done = process.heard()
    assert done.out.split() == ["1", str(int(number))]
    assert done.code == 7
    assert "7" in done.err


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_a_signal_that_comes_while_the_command_starts_reaches_it(monkeypatch):
    def started_late(argv):
        process = start(argv)
        os.kill(os.getpid(), signal.SIGUSR1)  # the command runs, and we have not heard of it yet
        return process

    start = subprocess.Popen
    monkeypatch.setattr(command.subprocess, "Popen", started_late)
    with command.started(("sleep", "60")) as process:
        assert command.wait(process, since_s=time.monotonic()).by_signal == "SIGUSR1"


def test_the_environment_is_as_it_was():
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = started(*python("import os; print('OPENBLAS_NUM_THREADS' in os.environ)"), env=kept)
    assert done.stdout.strip() == b"False"


def test_memory_and_time_of_cores_are_what_the_command_took():
    code = (
        "x = bytearray(300 * 2**20); import time; t = time.process_time()\n"
        "while time.process_time() - t < 0.3: pass\n"
        "print(time.process_time())"  # by its own clock, start-up included
    )
    done = started("--json", *python(code))
    told = json.loads(done.stdout)
    assert 300 * 2**20 <= told["host_peak_bytes"] < 450 * 2**20
    assert told["cpu_s"] == pytest.approx(float(done.stderr), abs=0.2)
    assert told["lasted_s"] >= 0.3


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="no count of one child")
def test_a_small_command_is_not_given_our_own_memory():
    """A child begins with the peak of what forked it, some tens of MB: that is not the command's."""
    told = json.loads(started("--json", "--", "sleep", "0.4").stdout)
    assert told["host_peak_bytes"] < 8 * 2**20
    assert told["cpu_s"] < 0.1


@pytest.mark.skipif(os.name == "nt", reason="exit codes of a POSIX shell")
def test_wrong_asks_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for argv, code, names in (
        ((), 2, '"--"'),
        (("--",), 2, '"--"'),
        (("--", "no-such-command-anywhere"), 127, "no-such-command-anywhere"),
        (("--", "/etc"), 126, "/etc"),
        (("--every", "1ms", "--", "true"), 2, "--every"),
        (("--plan", "nowhere.json", "--", "true"), 4, "nowhere.json"),
        (("--save", "runs.csv", "--", "true"), 2, "--plan"),
        (("--save", "no/such/folder/run.json", "--", "true"), 4, "no/such/folder"),
        (("python", "x.py"), 2, '"python"'),
    ):
        done = quiet(("measure", *argv))
        assert done.code == code, argv
        assert names in done.err, (argv, done.err)
        assert done.err.count("\n") <= 2, "an error and perhaps a hint"


def test_a_plan_that_is_none_runs_nothing(tmp_path):
    (tmp_path / "plan.json").write_text('{"plans": 3}')
    done = run("--plan", str(tmp_path / "plan.json"), *python("open('ran', 'w')"), cwd=tmp_path)
    assert done.returncode == 3
    assert not (tmp_path / "ran").exists()


def test_all_of_it_is_saved_as_json(tmp_path):
    before_s = time.time()
    done = run("--save", str(tmp_path / "run.json"), "--steps", "4", *python("pass"))
    kept = json.loads((tmp_path / "run.json").read_text())
    assert done.returncode == 0
    assert kept["steps"] == 4
    assert kept["exit_code"] == 0
    assert kept["command"][0] == sys.executable
    assert before_s <= kept["at_s"] <= time.time()
