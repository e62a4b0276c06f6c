"""`rigright` as a program that goes on beside the test: a `Popen` whose program is a fork of this process.

For what is signalled, read line by line or left in the middle. As `programs.rigright`, it costs a fraction
of an interpreter that starts; what is about that start, or about memory, starts a real one.
"""

from __future__ import annotations

import gc
import inspect
import os
import signal
import subprocess
import sys
import traceback
from contextlib import suppress

PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


class Begun(subprocess.Popen):
    """`rigright WORDS`, with the streams, folder, environment and session that a `Popen` is given."""

    def __init__(self, *words, **more):
        super().__init__(["rigright", *map(str, words)], **more)

    def _execute_child(self, *given, **named):
        asked = inspect.signature(subprocess.Popen._execute_child).bind(self, *given, **named).arguments
        ours = [asked[one] for one in ("p2cwrite", "c2pread", "errread") if asked[one] != -1]
        theirs = [asked[one] for one in ("p2cread", "c2pwrite", "errwrite")]
        self.pid = os.fork()
        if not self.pid:
            _child(asked, ours, theirs)
        self._child_created = True
        self._close_pipe_fds(*(asked[one] for one in PIPES))


def _child(asked, ours, theirs) -> None:
    """The program: nothing of pytest is left around it, and it never comes back."""
    code = 1
    try:
        for number in ours:
            os.close(number)
        spare = [os.dup(number) if number != -1 else None for number in theirs]
        for place, number in enumerate(spare):
            if number is not None:
                os.dup2(number, place)
        for number in {one for one in (*spare, *theirs) if one is not None and one > 2}:
            with suppress(OSError):
                os.close(number)
        if asked.get("start_new_session"):
            os.setsid()
        if (group := asked.get("process_group", -1)) not in (-1, None):
            os.setpgid(0, group)
        code = answer(asked["args"], cwd=asked["cwd"], env=asked["env"], before=asked["preexec_fn"])
    except BaseException:  # noqa: BLE001 - it ends here, whatever it was
        traceback.print_exc()
    os._exit(code if isinstance(code, int) else 1)


def answer(line, *, cwd=None, env=None, before=None) -> int:
    """In a child: answer a command line on the three streams that it has; the exit code."""
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
    if before is not None:
        before()
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.unraisablehook, sys.excepthook = sys.__unraisablehook__, sys.__excepthook__
    sys.argv = list(line)
    from rigright.__main__ import main

    try:
        code = main()
    except SystemExit as left:
        code = left.code or 0
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    return code


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


def run(*words, timeout=120, **more) -> subprocess.CompletedProcess:
    """As `subprocess.run(..., capture_output=True)`: both streams, and the exit code."""
    given = more.pop("input", None)
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    with Begun(*words, stdin=subprocess.DEVNULL if given is None else subprocess.PIPE, **more) as process:
        try:
            out, err = process.communicate(given, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
