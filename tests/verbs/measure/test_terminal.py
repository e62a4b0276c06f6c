"""measure at a real terminal: keys, sizes, stopping and going on, floods of output."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from programs import Program, run, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="terminals and /proc of Linux")
RIG = ("measure", "--every", "50ms")
WAIT_S = 60
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
        self.keys, slave = pty.openpty()
        streams = {"stdin": slave, "stdout": slave, "stderr": slave}
        self.process = Program(*argv, env=env, first=self.owned, **streams)
        os.close(slave)
        self.pid, self.heard = self.process.pid, ""

    def owned(self):
        """In the program: the terminal is its own, and our end of it is not."""
        os.close(self.keys)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    @property
    def code(self):
        return self.process.returncode

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
        """Its last words, after its end."""
        while self.listen(0.05) and self.process.poll() is None:
            pass
        while self.listen(0.02) and select.select([self.keys], [], [], 0.02)[0]:
            pass
        self.process.wait()
        return self.heard

    def close(self):
        self.process.close()
        os.close(self.keys)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def opening(*argv):
        opened.append(Terminal(*argv, cwd=tmp_path))
        return opened[-1]

    yield opening
    for one in opened:
        one.close()


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
    with Program(*RIG, "--json", *python(code), process_group=0) as process:
        assert process.stderr.readline() == b"on\n"
        os.killpg(process.pid, signal.SIGSTOP)
        until(lambda: state(process.pid) == "T", what="a stop")
        time.sleep(0.1)
        assert state(process.pid) == "T"
        os.killpg(process.pid, signal.SIGCONT)
        done = process.heard()
    assert (done.code, done.err) == (0, "end\n")
    assert done.data["lasted_s"] >= 0.6


def test_a_flood_of_lines_and_bytes_passes_whole():
    """Some ten thousand lines, then every byte there is: not one is lost, changed or held back."""
    code = (
        "import sys\n"
        "for n in range(50_000): print(n)\n"
        "sys.stdout.flush()\n"
        "sys.stdout.buffer.write(bytes(range(256)) * 64)\n"
        "sys.stderr.write('to err\\n' * 1000)\n"
    )
    done = run(*RIG, *python(code))
    lines, rest = done.stdout.split(b"49999\n")
    assert lines.count(b"\n") == 49_999
    assert rest == bytes(range(256)) * 64
    assert done.stderr.startswith(b"to err\n" * 1000)
    assert "✓".encode() in done.stderr


def test_json_is_never_mixed_with_what_the_command_prints():
    """A million bytes on both of its streams, and stdout is one JSON document."""
    code = "import sys; sys.stdout.write('out' * 300_000); sys.stderr.write('err' * 300_000)"
    done = run(*RIG, "--json", *python(code))
    assert json.loads(done.stdout)["exit_code"] == 0
    assert (done.stderr.count(b"out"), done.stderr.count(b"err")) == (300_000, 300_000)


def test_a_reader_that_leaves_early_ends_the_command_as_without_us():
    """`measure -- yes | head -1`: yes gets its SIGPIPE, and we tell what it took."""
    with Program(*RIG, "--", "yes") as yes:
        assert yes.stdout.readline() == b"y\n"
        yes.stdout.close()
        code, _, err = yes.heard()
    assert code in {128 + signal.SIGPIPE, 1}
    assert "Traceback" not in err
    assert "SIGPIPE" in err or code == 1


def test_nothing_of_it_is_left_behind(tmp_path):
    """The command's own children may live on, as without us; ours do not."""
    code = "from subprocess import *; print(Popen(['sleep', '90'], stdout=DEVNULL, stderr=DEVNULL).pid)"
    done = run(*RIG, *python(code), cwd=tmp_path)
    left = int(done.stdout)
    try:
        assert state(left) == "S"
    finally:
        os.kill(left, signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_is_closed_is_no_trouble():
    for closed in (0, 1, 2):
        words = (*RIG, *python("raise SystemExit(3)"))
        with Program(*words, stderr=subprocess.STDOUT, first=lambda one=closed: os.close(one)) as process:
            done = process.heard()
        assert "Traceback" not in done.out, closed
        assert done.code == 3, closed


def test_what_is_told_fits_the_screen_and_goes_to_the_screen_alone():
    for language, width in (("en", 40), ("en", 100), ("zh", 40), ("zh", 60)):
        words = ["--width", width, "--lang", language, "--steps", "10"]
        done = run(*RIG, *words, *python("print('x' * 300)"))
        assert done.stdout == b"x" * 300 + b"\n"
        told = done.stderr.decode()
        assert bool(re.search(r"[\u4e00-\u9fff]", told)) == (language == "zh")
        own = [line for line in told.splitlines() if sys.executable not in line]
        assert own
        assert max(len(line) for line in own if "$ " not in line) <= width, (language, width)


def test_every_form_stands_alone():
    opens = {"--json": "{", "--markdown": "#", "--html": "<!", "--csv": ""}
    for form, first in opens.items():
        done = run(*RIG, form, *python("print(1)"))
        assert (done.stderr, done.returncode) == (b"1\n", 0), form
        assert done.stdout.decode().strip().startswith(first), form
    assert {line.count(",") for line in done.stdout.decode().splitlines()} == {5}, "a table of six columns"
