"""The terminal under `rigright watch`: taken, drawn over, resized, and always given back as it was."""

from __future__ import annotations

import os
import select
import signal
import struct
import time

import pytest

from programs import PATIENCE_S, Program
from rigright.faces.cli.live import Live

fcntl = pytest.importorskip("fcntl", reason="a terminal of POSIX")
termios = pytest.importorskip("termios")
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """`rigright watch` in a terminal of our own."""

    def __init__(self, tmp_path, line="", *, columns=90, rows=30, term="xterm"):
        self.ours, theirs = os.openpty()
        self.resize(columns, rows)
        env = {**os.environ, "TERM": term, "RIGRIGHT_HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
        env.pop("COLUMNS", None)
        self.before = termios.tcgetattr(self.ours)
        words = ["watch", "--no-history", "--every", "300ms", *line.split()]
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = Program(*words, env=env, **streams)
        self.theirs = theirs
        self.said = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, want, since=0):
        """Read on until this was said; the place behind it."""
        stop = time.monotonic() + PATIENCE_S
        while want not in self.said[since:]:
            assert time.monotonic() < stop, self.said[-2000:]
            if select.select([self.ours], [], [], 0.2)[0]:
                self.said += os.read(self.ours, 65536)
        return self.said.index(want, since) + len(want)

    def end(self):
        """The exit code, all that was said, and the terminal's settings after."""
        self.until(LEAVE)
        code = self.process.wait()
        return code, termios.tcgetattr(self.ours)

    def close(self):
        self.process.close()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def opening(*args, **more):
        opened.append(Terminal(tmp_path, *args, **more))
        return opened[-1]

    yield opening
    for one in opened:
        one.close()


@pytest.mark.parametrize("way", [b"q", signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_however_it_ends_the_terminal_is_as_it_was(terminal, way):
    shown = terminal()
    shown.until(b"cpu ")
    assert termios.tcgetattr(shown.ours)[3] != shown.before[3], "keys come one by one"
    if isinstance(way, bytes):
        os.write(shown.ours, way)
    else:
        shown.process.send_signal(way)
    code, after = shown.end()
    assert (code, after) == (0, shown.before)
    assert shown.said.count(ENTER) == shown.said.count(LEAVE) == 1
    assert b"Traceback" not in shown.said


def test_a_window_that_changes_is_drawn_anew(terminal):
    shown = terminal(columns=90, rows=30)
    shown.until(b"cpu ")
    shown.resize(30, 8)
    at = shown.until(b"\x1b[J", since=len(shown.said))  # the whole; from then on what changes
    last = shown.said[:at].split(b"\x1b[H")[-1].partition(b"\x1b[J")[0].split(b"\r\n")
    assert len(last) == 8
    os.write(shown.ours, b"q")
    assert shown.end()[0] == 0


def test_asleep_the_terminal_is_ours_again(terminal):
    shown = terminal()
    shown.until(b"cpu ")
    shown.process.send_signal(signal.SIGTSTP)
    at = shown.until(LEAVE)
    shown.process.send_signal(signal.SIGCONT)
    at = shown.until(ENTER, since=at)
    at = shown.until(b"cpu ", since=at)
    os.write(shown.ours, b"q")
    shown.until(LEAVE, since=at)
    assert shown.process.wait() == 0


def test_a_defect_of_ours_leaves_the_terminal_as_it_was(capsys):
    def broken():
        with Live() as live:
            live.draw(["one", "two"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    told = capsys.readouterr().out.encode()
    assert told.index(ENTER) < told.index(b"two") < told.index(LEAVE)


def test_lines_that_stay_are_not_written_again(capsys):
    with Live() as live:
        live.draw(["one", "two", "three"])
        capsys.readouterr()
        live.draw(["one", "other"])
        told = capsys.readouterr().out
        live.draw(["one", "other"])
        assert capsys.readouterr().out == ""
    assert "one" not in told
    assert "\x1b[2;1Hother\x1b[K" in told
    assert "\x1b[3;1H\x1b[K" in told, "what is not there any more is wiped"


def test_a_dumb_terminal_gets_lines(terminal):
    shown = terminal("--for 1s", term="dumb")
    shown.until(b"host   cpu")
    assert shown.process.wait() == 0
    assert ENTER not in shown.said


@pytest.mark.skipif(not hasattr(signal, "SIGTSTP"), reason="no Ctrl-Z here")
def test_whenever_a_pause_strikes_a_drawing_the_next_one_is_whole(monkeypatch, capsys):
    live = Live()
    live.draw(["one", "two"])
    sized = live.size

    def struck():
        monkeypatch.setattr(live, "size", sized)
        live._pause()
        return sized()

    slept = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(os, "kill", lambda *_: slept.append(capsys.readouterr().out))
    monkeypatch.setattr(live, "size", struck)
    live.draw(["one", "three"])
    assert "three" in slept[0]  # the drawing ended before
    live.draw(["one", "three"])
    assert "one" in capsys.readouterr().out
