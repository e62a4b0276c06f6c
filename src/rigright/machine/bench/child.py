"""Asks a child process to run a part, and never waits longer than it said it would."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.patience import patience
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.tasks import Deadline
from rigright.machine.ending import send
from rigright.machine.stored import plain, restored

HOME = str(Path(__file__).parents[3])  # the folder that `rigright` lies in
# -c would run a numpy.py of the current folder: 3.11 is stated by SAFE, 3.10 by the program's first line
SAFE = {"PYTHONSAFEPATH": "1"}
ONLY_INSTALLED = "import sys; sys.path[:] = [one for one in sys.path if one]; "
START = (
    f"{ONLY_INSTALLED}sys.path.append(sys.argv.pop(1)); from rigright.machine.bench.start import main; main()"
)
GRACE_S = 20.0  # to load PyTorch and to come to an end
_DEAD_S = 1.0  # for a child that was ended, or has ended, to be gone
_KEPT_BYTES = 2000  # of what a child said last
_LAST_S = 0.05  # what a child that has ended may still have in its pipe
LONGEST_LINE = MIB  # of an answer
_MOST_WAITING = 1000  # answers that nobody took yet


class BenchChild:
    """One child, started when it is first asked and again after it died."""

    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        self._python, self._env = python, {**env, **SAFE}
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._said = b""
        self._ear = threading.Thread()

    def run(self, ask: BenchRequest, end: Deadline | None = None) -> Iterator[Result | Skipped]:
        """What the part measures; a child that is late, dies or outlives the end is ended, and told of."""
        began = time.monotonic()
        until = Deadline.of(ask.spare_s * 1.5 + patience(GRACE_S))
        until = until if end is None else min(until, end)
        try:
            process = self._started()
            if process.stdin is not None:
                process.stdin.write(json.dumps(plain(ask)).encode() + b"\n")
                process.stdin.flush()
        except OSError as error:
            self.close()
            yield Skipped(
                part=ask.part, why=say("it could not be started: {why}", why=error.strerror or error)
            )
            return
        while True:
            answer = self._next(until)
            if answer is None or until.is_over():
                late_s = time.monotonic() - began if until.is_over() else None
                yield self._lost(ask, late_s=late_s)
                return
            if "done" in answer:
                return
            if answer.get("broken"):
                self.close()
                return
            yield from _read(answer)

    def close(self) -> None:
        """End the child and all it started."""
        process, self._process = self._process, None
        if process is None:
            return
        # end the whole group; one that cannot be ended (its driver hangs in the kernel) is left alone
        send(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience(_DEAD_S))
        with suppress(queue.Empty):
            while self._lines.get(timeout=_LAST_S) is not None:
                pass  # whoever waits to put one more comes to an end
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError, ValueError):
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._lines, self._said = queue.Queue(_MOST_WAITING), b""
        process = subprocess.Popen(
            [self._python, "-c", START, HOME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._env,
            start_new_session=True,
        )
        threading.Thread(target=_pass_on, args=(process.stdout, self._lines), daemon=True).start()
        self._ear = threading.Thread(target=self._overhear, args=(process.stderr,), daemon=True)
        self._ear.start()
        self._process = process
        return process

    def _next(self, until: Deadline) -> dict[str, Any] | None:
        """The next answer, whatever else is printed before it; None: there will be none."""
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, until.left_s()))
            except queue.Empty:
                return None
            if line is None:
                return None
            try:
                answer = bounded_json(line)
            except ValueError:
                answer = None
            if isinstance(answer, dict):
                return answer
            if until.is_over():
                return None

    def _lost(self, ask: BenchRequest, *, late_s: float | None) -> Skipped:
        """Why nothing more comes; the child is ended."""
        process = self._process
        code = None
        if process is not None and late_s is None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(patience(_DEAD_S))
                self._ear.join(patience(_DEAD_S))  # its last words may still be on their way
        texts = self._said.decode("utf-8", "replace").strip().splitlines()
        self.close()
        if late_s is not None:
            return Skipped(
                part=ask.part, why=say("no answer within {time} s: terminated", time=round(late_s))
            )
        last = texts[-1][:200] if texts else say("no output")
        return Skipped(
            part=ask.part, why=say("its process died (exit code {code}): {last}", code=code, last=last)
        )

    def _overhear(self, pipe: IO[bytes] | None) -> None:
        """Keep the last words of the child, for when it dies."""
        with suppress(OSError, ValueError):
            while pipe is not None and (more := os.read(pipe.fileno(), _KEPT_BYTES)):
                self._said = (self._said + more)[-_KEPT_BYTES:]


def _pass_on(pipe: IO[bytes] | None, lines: queue.Queue[bytes | None]) -> None:
    with suppress(OSError, ValueError):
        while pipe is not None and (line := pipe.readline(LONGEST_LINE)):
            lines.put(line)
    lines.put(None)


def _read(answer: dict[str, Any]) -> Iterator[Result | Skipped]:
    """A record of what the child wrote; anything else is passed over."""
    kinds: dict[str, type[Result | Skipped]] = {"result": Result, "skipped": Skipped}
    for word, kind in kinds.items():
        if word in answer:
            with suppress(DataError):
                yield restored(kind, answer[word], where=word)
