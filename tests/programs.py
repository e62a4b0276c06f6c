"""`rigright` as a program of its own, without starting Python: a `Popen` whose program is a fork of ours.

It has its own environment, folder, streams, signals and exit code, as any program has, and costs a thirtieth
of one that starts. What is about the start itself (the interpreter, signals while it loads) or about memory
starts a real one.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PATIENCE_S = 120
FAREWELL_S = 10  # for what still holds a pipe of a program that has ended
LOOK_S = 0.05
PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
OURS, THEIRS = ("p2cwrite", "c2pread", "errread"), ("p2cread", "c2pwrite", "errwrite")
UNFLUSHED = 120  # the exit code of an interpreter whose last words are lost


class Ended(NamedTuple):
    """How a program ended, and what it wrote."""

    code: int  # below zero: the signal that ended it
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)


def rigright(*words, **more) -> Ended:
    """`rigright WORDS`, run to its end; `more`: as `run` takes it."""
    done = run(*words, **more)
    return _ended(done.returncode, done.stdout, done.stderr)


def run(*words, stdin: bytes | str = b"", **more) -> subprocess.CompletedProcess:
    """The same to the byte; `more`: the environment, the folder, all that a `Program` is given."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin.encode() if isinstance(stdin, str) else stdin)
        given.seek(0)
        with Program(*words, stdin=given, **more) as program:
            out, err = program.communicate()
    return subprocess.CompletedProcess(program.args, program.returncode, out, err)


def _ended(code, *said) -> Ended:
    return Ended(code, *(one.decode("utf-8", "replace") for one in said))


class Program(subprocess.Popen):
    """`rigright WORDS` beside the test, with all that a `Popen` is given; every wait for it has an end."""

    is_fork = True  # pulse.py counts what starts

    def __init__(self, *words, first=None, **more):
        """`first`: what the program does before it begins."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        apart = {"start_new_session": "process_group" not in more}  # from a terminal that we may be run at
        super().__init__(["rigright", *map(str, words)], preexec_fn=first, **{**pipes, **apart, **more})

    def _execute_child(self, *given, **named):
        asked = inspect.signature(subprocess.Popen._execute_child).bind(self, *given, **named).arguments
        self.pid = os.fork()
        if not self.pid:
            _child(asked)
        self._child_created = True
        self._close_pipe_fds(*(asked[one] for one in PIPES))

    def wait(self, timeout=PATIENCE_S):
        return super().wait(timeout)

    def heard(self, timeout=PATIENCE_S) -> Ended:
        """How it ended, and all that it still wrote."""
        said = self.communicate(timeout=timeout)
        return _ended(self.returncode, *said)

    def communicate(self, *, timeout=PATIENCE_S):
        """What it still wrote, to the byte; its children may hold its pipes for longer than we listen."""
        streams = (self.stdout, self.stderr)
        going = [one for one in streams if one is not None and not one.closed]
        for one in going:
            os.set_blocking(one.fileno(), False)
        said = {one: [one.peek()] for one in going}  # what was read beyond a line
        end_s, is_over = time.monotonic() + timeout, False
        while going and (not is_over or time.monotonic() < end_s):
            for one in select.select(going, [], [], LOOK_S)[0]:
                said[one].append(os.read(one.fileno(), 2**16))
                if not said[one][-1]:
                    going.remove(one)
            if not is_over and self.poll() is not None:
                is_over, end_s = True, time.monotonic() + FAREWELL_S
            elif not is_over and time.monotonic() > end_s:
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(max(0, end_s - time.monotonic()))
        for one in said:
            one.close()
        return tuple(b"".join(said.get(one, ())) for one in streams)

    def close(self) -> None:
        """Ended, whatever it does."""
        self.kill()
        self.wait()
        for one in (self.stdin, self.stdout, self.stderr):
            if one is not None:
                one.close()

    def __exit__(self, *_):
        self.close()


def _child(asked) -> None:
    """The program: nothing of pytest is left around it, and it never comes back."""
    code = 1
    try:
        _place([asked[one] for one in OURS], [asked[one] for one in THEIRS])
        if asked.get("start_new_session"):
            os.setsid()
        if (group := asked.get("process_group", -1)) not in (-1, None):
            os.setpgid(0, group)
        code = _answer(asked["args"], cwd=asked["cwd"], env=asked["env"], first=asked["preexec_fn"])
    except BaseException:  # noqa: BLE001 - a traceback of the program is what a test looks for
        with suppress(OSError):
            os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code if isinstance(code, int) else 1)


def _place(ours, theirs) -> None:
    """The ends of pipes that are the program's become its streams; nothing else of them stays open."""
    for number in ours:
        if number != -1:
            os.close(number)
    spare = [os.dup(number) if number != -1 else None for number in theirs]
    for place, number in enumerate(spare):
        if number is not None:
            os.dup2(number, place)
    for number in {one for one in (*spare, *theirs) if one is not None and one > 2}:
        with suppress(OSError):
            os.close(number)


def _answer(line, *, cwd, env, first) -> int:
    """Answer a command line on the three streams that are there; the exit code."""
    gc.freeze()  # what is of the test is never looked through again
    signal.alarm(0)
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if cwd is not None:
        os.chdir(cwd)
    if env is not None:
        os.environ.clear()
        os.environ.update({key: str(value) for key, value in env.items()})
    if first is not None:
        first()
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.unraisablehook, sys.excepthook = sys.__unraisablehook__, sys.__excepthook__
    sys.argv = list(line)
    from rigright.__main__ import main

    try:
        code = main()
    except SystemExit as left:
        code = left.code or 0
    return code if _is_flushed(sys.stdout) and _is_flushed(sys.stderr) else UNFLUSHED


def _stream(number):
    """A stream as the interpreter opens it; none where it is closed."""
    is_plain = os.environ.get("LC_ALL") == "C" and os.environ.get("PYTHONUTF8") == "0"
    coding, broken = ("ascii", "surrogateescape") if is_plain else ("utf-8", "strict")
    try:
        return open(
            number, "r" if number == 0 else "w", encoding=coding, closefd=False,
            errors="backslashreplace" if number == 2 else broken,
            buffering=1 if number == 2 or os.isatty(number) else -1,
        )  # fmt: skip
    except OSError:
        return None


def _is_flushed(stream) -> bool:
    """Whether its last words are out; said as the interpreter says it."""
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except OSError as error:
        os.write(2, f"Exception ignored in: {stream!r}\n{error!r}\n".encode())
        return False
    return True


def folder_env(folder: Path, **more) -> dict[str, str]:
    """A small environment: a home of its own in this folder, plain English, nothing of ours but the path."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "RIGRIGHT_PLUGINS": "0",
        **more,
    }


def until(met, timeout_s=PATIENCE_S, what="") -> None:
    """Wait for an event, looking often."""
    stop = time.monotonic() + timeout_s
    while not met():
        assert time.monotonic() < stop, f"it did not come: {what}"
        time.sleep(0.005)


def worked(pid: int, seconds: float) -> bool:
    """Whether a program has used so much of a processor, or has ended."""
    try:
        spent = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return True
    return sum(map(int, spent[11:13])) / os.sysconf("SC_CLK_TCK") >= seconds


class Bell:
    """Rung inside a program when it comes to a function; waited for outside."""

    def __enter__(self):
        self._heard, self._rung = os.pipe()
        return self

    def __exit__(self, *_):
        os.close(self._heard)
        os.close(self._rung)

    def at(self, module, name: str, *, stays: bool = False) -> None:
        """From now on, whoever calls this function rings; `stays`: and goes no further until it is ended."""
        told = getattr(module, name)

        def ringing(*words, **more):
            self.ring()
            if stays:
                time.sleep(10 * PATIENCE_S)
            return told(*words, **more)

        setattr(module, name, ringing)

    def ring(self) -> None:
        os.write(self._rung, b"x")

    def wait(self, times: int = 1, timeout_s=PATIENCE_S) -> None:
        """Until it was rung so often."""
        while times > 0:
            assert select.select([self._heard], [], [], timeout_s)[0], "nobody came there"
            times -= len(os.read(self._heard, times))
