"""`rigright` as a program that goes on: a fork of this process with pipes, to be pressed and killed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from pathlib import Path

import programs

PATIENCE_S = 60
FAREWELL_S = 10


class Fork:
    """A running `rigright`, asked as `subprocess.Popen` is."""

    def __init__(self, words, *, env=None, cwd=None, first=None, stdout=None) -> None:
        """`first`: what the program does before it begins; `stdout`: a file instead of a pipe."""
        out_ours, out = (None, stdout) if stdout is not None else _pipe()
        err_ours, err = _pipe()
        self.pid = os.fork()
        if not self.pid:
            for ours in (out_ours, err_ours):
                if ours is not None:
                    ours.close()
            with Path(os.devnull).open("rb") as given:
                programs._answer([str(word) for word in words], env, cwd, (given, out, err), first=first)
        for theirs in (err, *([] if stdout is not None else [out])):
            theirs.close()
        self.stdout, self.stderr, self.returncode = out_ours, err_ours, None

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout_s=PATIENCE_S):
        if self.returncode is None:
            until(lambda: self.poll() is not None, timeout_s, self)
        return self.returncode

    def send_signal(self, number) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def heard(self, timeout_s=PATIENCE_S):
        """Its exit code and all that it still wrote."""
        told, over = {}, threading.Event()

        def read(stream) -> None:
            os.set_blocking(stream.fileno(), False)
            pieces = []
            while not over.is_set() and (piece := stream.read()) != b"":
                if piece is None:
                    select.select([stream], [], [], 0.05)
                else:
                    pieces.append(piece)
            told[stream] = b"".join(pieces).decode("utf-8", "replace")

        streams = [one for one in (self.stdout, self.stderr) if one is not None and not one.closed]
        readers = [threading.Thread(target=read, args=(one,), daemon=True) for one in streams]
        for one in readers:
            one.start()
        code = self.wait(timeout_s)
        for one in readers:
            one.join(FAREWELL_S)
        over.set()  # a child of the program may hold the pipe for longer
        for one in readers:
            one.join()
        return code, told.get(self.stdout, ""), told.get(self.stderr, "")

    def close(self) -> None:
        """Ended, whatever it does."""
        self.kill()
        self.wait()
        for one in (self.stdout, self.stderr):
            if one is not None:
                one.close()


def _pipe():
    ours, theirs = os.pipe()
    return os.fdopen(ours, "rb"), os.fdopen(theirs, "wb")


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

    def __init__(self) -> None:
        self._heard, self._rung = os.pipe()

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

    def close(self) -> None:
        for one in (self._heard, self._rung):
            with contextlib.suppress(OSError):
                os.close(one)
