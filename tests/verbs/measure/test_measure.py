"""A command runs as if nobody stood between; what it took is told beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from desk import quiet

RIG = (sys.executable, "-m", "rigright", "measure")


def run(*argv, **more):
    return subprocess.run([*RIG, *argv], capture_output=True, check=False, **more)


def python(code):
    return ("--", sys.executable, "-c", code)


def test_output_is_the_commands_alone_to_the_byte():
    done = run(*python("import sys; sys.stdout.buffer.write(bytes(range(256)))"))
    assert done.stdout == bytes(range(256))
    assert b"exit 0" in done.stderr
    assert done.returncode == 0


def test_input_reaches_the_command():
    done = run(*python("import sys; print(sys.stdin.read()[::-1])"), input=b"abc")
    assert done.stdout.strip() == b"cba"


def test_options_behind_the_dashes_are_the_commands():
    done = run(*python("import sys; print(sys.argv[1:])"), "--json", "--lang", "zh", "--", "-x")
    assert done.stdout.decode().strip() == "['--json', '--lang', 'zh', '--', '-x']"
    assert b"exit 0" in done.stderr


@pytest.mark.parametrize("code", [1, 3, 255])
def test_the_exit_code_is_the_commands(code):
    assert run(*python(f"raise SystemExit({code})")).returncode == code


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
        "until = time.monotonic() + 20\n"
        "while not seen and time.monotonic() < until: time.sleep(0.02)\n"
        "time.sleep(0.2)\n"
        "print(len(seen), int(seen[0]), flush=True)\n"
        "sys.exit(7)\n"
    )
    process = subprocess.Popen(
        [*RIG, *python(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout.readline().strip() == b"ready"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert out.split() == [b"1", str(int(number)).encode()]
    assert process.returncode == 7
    assert b"exit code 7" in err


def test_the_environment_is_as_it_was():
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = run(*python("import os; print('OPENBLAS_NUM_THREADS' in os.environ)"), env=kept)
    assert done.stdout.strip() == b"False"


def test_memory_and_time_of_cores_are_what_the_command_took():
    code = (
        "x = bytearray(300 * 2**20); import time; t = time.process_time()\n"
        "while time.process_time() - t < 1: pass\n"
        "print(time.process_time())"  # by its own clock, start-up included
    )
    done = run("--json", *python(code))
    told = json.loads(done.stdout)
    assert 300 * 2**20 <= told["host_peak_bytes"] < 450 * 2**20
    assert told["cpu_s"] == pytest.approx(float(done.stderr), abs=0.2)
    assert told["lasted_s"] >= 1


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="no count of one child")
def test_a_small_command_is_not_given_our_own_memory():
    """A child begins with the peak of what forked it, some tens of MB: that is not the command's."""
    told = json.loads(run("--json", "--", "sleep", "0.5").stdout)
    assert told["host_peak_bytes"] < 8 * 2**20
    assert told["cpu_s"] < 0.1


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        ((), 2, b'add it after "--"'),
        (("--",), 2, b'add it after "--"'),
        (("--", "no-such-command-anywhere"), 127, b"command not found"),
        (("--", "/etc"), 126, b"cannot be started"),
        (("--every", "1ms", "--", "true"), 2, b"is too short"),
        (("--plan", "nowhere.json", "--", "true"), 4, b"no such plan"),
        (("--save", "runs.csv", "--", "true"), 2, b"add --plan"),
        (("--save", "no/such/folder/run.json", "--", "true"), 4, b"no folder"),
        (("python", "x.py"), 2, b"python"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="exit codes of a POSIX shell")
def test_wrong_asks_are_one_sentence(argv, code, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = quiet(("measure", *argv))
    assert done.code == code
    assert says.decode() in done.err
    assert [line.split(":")[0] for line in done.err.splitlines()] in (["error"], ["error", "hint"])


def test_a_plan_that_is_none_runs_nothing(tmp_path):
    (tmp_path / "plan.json").write_text('{"plans": 3}')
    done = run("--plan", str(tmp_path / "plan.json"), *python("open('ran', 'w')"), cwd=tmp_path)
    assert done.returncode == 3
    assert not (tmp_path / "ran").exists()


def test_all_of_it_is_saved_as_json(tmp_path):
    done = run("--save", str(tmp_path / "run.json"), "--steps", "4", *python("pass"))
    kept = json.loads((tmp_path / "run.json").read_text())
    assert done.returncode == 0
    assert kept["steps"] == 4
    assert kept["exit_code"] == 0
    assert kept["command"][0] == sys.executable
    assert abs(kept["at_s"] - time.time()) < 60
