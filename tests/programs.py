"""`rigright` as a program of its own, without starting Python: a fork of this process.

It has its own environment, folder, streams and exit code, as any program has, and costs a thirtieth of one
that starts. What is about the start itself (the interpreter, signals while it loads) starts a real one.
"""

from __future__ import annotations

import io
import json
import os
import select
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

WAIT_S = 120


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it wrote."""

    code: int  # below zero: the signal that ended it
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)


def rigright(
    *words, env=None, cwd=None, stdin: bytes | str = b"", wait_s: float = WAIT_S, first=None
) -> Ended:
    """`rigright WORDS` in this environment, in this folder (else ours), after what is done `first`."""
    typed = stdin.encode() if isinstance(stdin, str) else stdin
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(typed)
        given.seek(0)
        pid = os.fork()
        if not pid:
            _answer([str(word) for word in words], env, cwd, (given, out, err), first=first)
        code = _ended(pid, wait_s)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Ended(code, *texts)


def _answer(words, env, cwd, files, *, first) -> None:
    """The child: nothing of pytest is left around the program, and it never comes back."""
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(
                io.FileIO(number, mode, closefd=False), "utf-8", errors, line_buffering=number == 2
            )
            for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
        )
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
        sys.unraisablehook, sys.excepthook = sys.__unraisablehook__, sys.__excepthook__
        signal.alarm(0)
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL if number != signal.SIGPIPE else signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if cwd is not None:
            os.chdir(cwd)
        if env is not None:
            os.environ.clear()
            os.environ.update({key: str(value) for key, value in env.items()})
        if first is not None:
            first()
        sys.argv = ["rigright", *words]
        code = _main()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - a traceback of the program is what a test looks for
        traceback.print_exc()
        code = 1
    os._exit(code if isinstance(code, int) else 1)


def _main():
    from rigright.__main__ import main

    try:
        return main()
    except SystemExit as left:
        return left.code or 0


def _ended(pid: int, wait_s: float) -> int:
    """Its exit code; what does not end is killed."""
    with os.fdopen(
        os.pidfd_open(pid) if hasattr(os, "pidfd_open") else os.open(os.devnull, os.O_RDONLY)
    ) as handle:
        if hasattr(os, "pidfd_open") and not select.select([handle], [], [], wait_s)[0]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"it did not end within {wait_s:g} s")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def folder_env(folder: Path, **more) -> dict[str, str]:
    """A small environment: a home of its own in this folder, plain English, nothing of ours but the path."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "RIGRIGHT_PLUGINS": "0",
        **more,
    }
