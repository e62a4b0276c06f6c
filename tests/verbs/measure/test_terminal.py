"""measure at a real terminal: keys, sizes, stopping and going on, floods of output."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import begun

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="terminals and /proc of Linux")
RIG = ("measure", "--every", "50ms")
WAIT_S = 60
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
COUNTS = (
    "import os, signal, sys, time\n"
    "seen = []\n"
    "signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))\n"
    "print('ready', os.isatty(0), os.isatty(1), os.get_terminal_size().columns, flush=True)\n"
    "until = time.monotonic() + 60\n"
    "while not seen and time.monotonic() < until: time.sleep(0.02)\n"
    "time.sleep(0.1)\n"
    "print('count', len(seen), flush=True)\n"
    "sys.exit(5)\n"
)


class Terminal:
    """A command in front of a terminal of its own."""

    def __init__(self, *argv, cwd=None):
        env = {**os.environ, "TERM": "xterm", "LD_LIBRARY_PATH": str(cwd or "/"), "LC_ALL": "C.UTF-8"}
        self.pid, self.keys = pty.fork()
        if self.pid == 0:
            os._exit(begun.answer(["rigright", *argv], env=env))
        self.heard = ""
        self.code = None

    def until(self, pattern):
        """What the screen shows, until it shows this."""
        end = time.monotonic() + WAIT_S
        while not re.search(pattern, self.heard):
            assert time.monotonic() < end, self.heard
            if not self.listen(0.2):
                break
        assert re.search(pattern, self.heard), self.heard
        return self.heard

    def listen(self, wait_s):
        ready, _, _ = select.select([self.keys], [], [], wait_s)
        if not ready:
            return True
        try:
            told = os.read(self.keys, 65536)
        except OSError:
            return False
        self.heard += told.decode("utf-8", "replace")
        return bool(told)

    def press(self, keys):
        os.write(self.keys, keys)

    def end(self):
        """Its last words, and how it ended."""
        while (
            self.listen(0.05) and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        ):
            pass
        while self.listen(0.02) and select.select([self.keys], [], [], 0.02)[0]:
            pass
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.heard


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def opening(*argv):
        opened.append(Terminal(*argv, cwd=tmp_path))
        return opened[-1]

    yield opening
    for one in opened:
        if one.code is None:
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
        os.close(one.keys)


def python(code):
    return ("--", sys.executable, "-c", code)


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def child_of(pid, word):
    """The child of a process whose command line holds a word."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if word in Path(f"/proc/{child}/cmdline").read_bytes().decode("utf-8", "replace"):
                return int(child)
        time.sleep(0.05)
    raise AssertionError(word)


def test_the_command_has_the_terminal_and_ctrl_c_reaches_it_once(terminal):
    at = terminal(*RIG, *python(COUNTS))
    assert "ready True True" in at.until(r"ready \w+ \w+ \d+")
    at.press(b"\x03")
    told = at.end()
    assert "count 1" in told
    assert at.code == 5
    assert "Traceback" not in told


def test_a_command_that_dies_of_ctrl_c_is_told_as_a_shell_tells_it(terminal):
    at = terminal(*RIG, "--", "sleep", "30")
    child = child_of(at.pid, "sleep")
    at.press(b"\x03")
    told = at.end()
    assert at.code in {128 + signal.SIGINT, -signal.SIGINT}
    assert "SIGINT" in told
    assert not Path(f"/proc/{child}").exists()


def test_keys_reach_the_command_as_lines(terminal):
    at = terminal(*RIG, *python("print('ask', flush=True); print('got', input()[::-1])"))
    at.until("ask")
    at.press(b"abc\n")
    assert "got cba" in at.end()
    assert at.code == 0


def test_stopped_and_going_on_is_as_without_us():
    """Ctrl-Z stops the whole group; fg lets all of it go on, and the time it stood still is the command's."""
    code = "import time; print('on', flush=True); time.sleep(0.6); print('end')"
    process = begun.Begun(*RIG, "--json", *python(code), **PIPES, text=True, process_group=0)
    try:
        assert process.stderr.readline() == "on\n"
        os.killpg(process.pid, signal.SIGSTOP)
        until = time.monotonic() + WAIT_S
        while state(process.pid) != "T" and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.1)
        assert state(process.pid) == "T"
        os.killpg(process.pid, signal.SIGCONT)
        out, err = process.communicate(timeout=WAIT_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert (err, process.returncode) == ("end\n", 0)
    assert json.loads(out)["lasted_s"] >= 0.6


def test_a_flood_of_lines_and_bytes_passes_whole():
    """Some ten thousand lines, then every byte there is: not one is lost, changed or held back."""
    code = (
        "import sys\n"
        "for n in range(50_000): print(n)\n"
        "sys.stdout.flush()\n"
        "sys.stdout.buffer.write(bytes(range(256)) * 64)\n"
        "sys.stderr.write('to err\\n' * 1000)\n"
    )
    done = begun.run(*RIG, *python(code), timeout=WAIT_S)
    lines, rest = done.stdout.split(b"49999\n")
    assert lines.count(b"\n") == 49_999
    assert rest == bytes(range(256)) * 64
    assert done.stderr.startswith(b"to err\n" * 1000)
    assert "✓".encode() in done.stderr


def test_json_is_never_mixed_with_what_the_command_prints():
    """A million bytes on both of its streams, and stdout is one JSON document."""
    code = "import sys; sys.stdout.write('out' * 300_000); sys.stderr.write('err' * 300_000)"
    done = begun.run(*RIG, "--json", *python(code), timeout=WAIT_S)
    assert json.loads(done.stdout)["exit_code"] == 0
    assert (done.stderr.count(b"out"), done.stderr.count(b"err")) == (300_000, 300_000)


def test_a_reader_that_leaves_early_ends_the_command_as_without_us():
    """`measure -- yes | head -1`: yes gets its SIGPIPE, and we tell what it took."""
    yes = begun.Begun(*RIG, "--", "yes", **PIPES)
    try:
        assert yes.stdout.readline() == b"y\n"
        yes.stdout.close()
        err = yes.stderr.read()
        yes.stderr.close()
        assert yes.wait(WAIT_S) in {128 + signal.SIGPIPE, 1}
    finally:
        if yes.poll() is None:
            yes.kill()
            yes.wait()
    assert b"Traceback" not in err
    assert b"SIGPIPE" in err or yes.returncode == 1


def test_nothing_of_it_is_left_behind(tmp_path):
    """The command's own children may live on, as without us; ours do not."""
    code = "from subprocess import *; print(Popen(['sleep', '90'], stdout=DEVNULL, stderr=DEVNULL).pid)"
    done = begun.run(*RIG, *python(code), timeout=WAIT_S, cwd=tmp_path)
    left = int(done.stdout)
    try:
        assert state(left) == "S"
    finally:
        os.kill(left, signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_is_closed_is_no_trouble():
    for closed in (0, 1, 2):
        process = begun.Begun(
            *RIG, *python("raise SystemExit(3)"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=lambda one=closed: os.close(one),
        )  # fmt: skip
        with process.stdout as told:
            assert b"Traceback" not in told.read(), closed
        assert process.wait(WAIT_S) == 3, closed


def test_what_is_told_fits_the_screen_and_goes_to_the_screen_alone():
    for language, width in (("en", 40), ("en", 100), ("zh", 40), ("zh", 60)):
        words = ["--width", width, "--lang", language, "--steps", "10"]
        done = begun.run(*RIG, *words, *python("print('x' * 300)"), timeout=WAIT_S)
        assert done.stdout == b"x" * 300 + b"\n"
        told = done.stderr.decode()
        assert bool(re.search(r"[\u4e00-\u9fff]", told)) == (language == "zh")
        own = [line for line in told.splitlines() if sys.executable not in line]
        assert own
        assert max(len(line) for line in own if "$ " not in line) <= width, (language, width)


def test_every_form_stands_alone():
    opens = {"--json": "{", "--markdown": "#", "--html": "<!", "--csv": ""}
    for form, first in opens.items():
        done = begun.run(*RIG, form, *python("print(1)"), timeout=WAIT_S)
        assert (done.stderr, done.returncode) == (b"1\n", 0), form
        assert done.stdout.decode().strip().startswith(first), form
    assert {line.count(",") for line in done.stdout.decode().splitlines()} == {5}, "a table of six columns"
