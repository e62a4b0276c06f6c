"""A terminal that is played: a program runs in it, keys are typed, and the screen is read back."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata
from pathlib import Path

from programs import Program

_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")
_BEGUN = re.compile(r"\x1b(?:\[[?\d;]*)?\Z")  # the rest of it comes with the next bytes
PATIENCE_S = 60
STOPPED_S = 0.02  # from one look at the program to the next; what has stopped is woken


def _shell() -> None:
    """A shell in short, in a fork of its own: the terminal is its own, the program a job in the foreground.

    One that stops is woken, and a signal is handed on. The program is what this comes back in.
    """
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    while True:
        ended, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        if ended and not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 255)
        time.sleep(STOPPED_S)
        if ended or _is_stopped(pid):
            os.killpg(pid, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    """Also where nobody is told: a thread that starts a program, which stops as well, holds up the others."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"


class Terminal:
    """`rigright` with some words, in a terminal of some size."""

    def __init__(self, line, env, *, size=(100, 30)):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.process = Program(
            *line.split(), stdin=self.slave, stdout=self.slave, env=env, first=self._shelled,
        )  # fmt: skip
        self.cells, self.at = {}, (1, 1)
        self.is_apart = self.is_hidden = False  # on a screen of its own, without a cursor
        self.sent = self.begun = ""
        self.letters = codecs.getincrementaldecoder("utf-8")("replace")

    def _shelled(self):
        """In the program: the end of the terminal that is ours is not its own."""
        os.close(self.master)
        _shell()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.close()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, columns, rows):
        self.size = columns, rows
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def lines(self):
        """What is seen now."""
        columns, rows = self.size
        return [
            "".join(self.cells.get((row, column), " ") for column in range(1, columns + 1)).rstrip()
            for row in range(1, rows + 1)
        ]

    def until(self, want):
        """Read until the screen is as wanted."""
        end_s = time.monotonic() + PATIENCE_S
        while not want(self):
            assert time.monotonic() < end_s, "never so:\n" + "\n".join(self.lines())
            self.read(0.2)
        return self.lines()

    def shows(self, text):
        return self.until(lambda one: text in "\n".join(one.lines()))

    def read(self, wait_s):
        if select.select([self.master], [], [], wait_s)[0]:
            self._take(self.letters.decode(os.read(self.master, 65536)))

    def ended(self):
        """The exit code, after all that was still written."""
        end_s = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < end_s, "it goes on"
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode

    def kill(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    @property
    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before and not (self.is_apart or self.is_hidden)

    def _take(self, text):
        self.sent += text
        text = self.begun + text
        rest = _BEGUN.search(text)
        self.begun = rest[0] if rest else ""
        text = text.removesuffix(self.begun)
        place = 0
        while place < len(text):
            match = _SEQUENCE.match(text, place)
            if match:
                self._obey(*match.groups())
                place = match.end()
                continue
            self._put(text[place])
            place += 1

    def _put(self, letter):
        row, column = self.at
        if letter == "\r":
            self.at = row, 1
        elif letter == "\n":
            self.at = row + 1, column
        elif letter >= " ":
            assert column <= self.size[0] or not self.is_apart, f"beyond the edge: {self.lines()[row - 1]}"
            wide = unicodedata.east_asian_width(letter) in "WF"
            self.cells[row, column] = letter
            if wide:
                self.cells[row, column + 1] = ""
            self.at = row, column + 1 + wide

    def _obey(self, given, act):
        row, column = self.at
        if act == "H":
            where = [int(one) for one in given.split(";") if one] or [1, 1]
            self.at = where[0], where[1]
        elif act in "KJ":
            gone = [at for at in self.cells if at >= (row, column) and (act == "J" or at[0] == row)]
            for at in gone:
                del self.cells[at]
        elif given == "?1049":
            self.is_apart = act == "h"
            self.cells = {}
        elif given == "?25":
            self.is_hidden = act == "l"
