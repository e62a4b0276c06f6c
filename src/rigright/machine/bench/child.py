"""Asks a child process to run a part, and never waits longer than it said it would."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from rigright.base.errors import DataError
from rigright.base.words import say
from rigright.machine.bench.ask import Ask, Deadline
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.stored import plain, restored

HOME = str(Path(__file__).parents[3])  # the folder that `rigright` lies in
START = "import sys; sys.path.append(sys.argv.pop(1)); from rigright.machine.bench.start import main; main()"
GRACE_S = 20.0  # to load PyTorch and to come to an end
KEPT_CHARS = 2000  # of what a child said last


class Child:
    """One child, started when it is first asked and again after it died."""

    def __init__(self, python: str, env: Mapping[str, str]) -> None:
        self._python, self._env = python, dict(env)
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._said = ""

    def run(self, ask: Ask) -> Iterator[Result | Skipped]:
        """What the part measures; a child that is late or dies is ended, and that is told."""
        until = Deadline.of(ask.spare_s * 1.5 + GRACE_S)
        try:
            process = self._started()
            self._send(process, ask)
        except OSError as error:
            self.close()
            yield Skipped(
                part=ask.part, why=say("it could not be started: {why}", why=error.strerror or error)
            )
            return
        while True:
            answer = self._next(until)
            if answer is None:
                yield self._lost(ask, was_late=until.is_over())
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
        _end(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError, ValueError):
                    pipe.close()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._lines, self._said = queue.Queue(), ""
        process = subprocess.Popen(
            [self._python, "-c", START, HOME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._env,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=_pass_on, args=(process.stdout, self._lines), daemon=True).start()
        threading.Thread(target=self._overhear, args=(process.stderr,), daemon=True).start()
        self._process = process
        return process

    def _send(self, process: subprocess.Popen[str], ask: Ask) -> None:
        if process.stdin is not None:
            process.stdin.write(json.dumps(plain(ask)) + "\n")
            process.stdin.flush()

    def _next(self, until: Deadline) -> dict[str, Any] | None:
        """The next answer; None: there will be none."""
        try:
            line = self._lines.get(timeout=max(0.01, until.left_s()))
        except queue.Empty:
            return None
        try:
            answer = None if line is None else json.loads(line)
        except ValueError:
            return None
        return answer if isinstance(answer, dict) else None

    def _lost(self, ask: Ask, *, was_late: bool) -> Skipped:
        """Why nothing more comes; the child is ended."""
        process = self._process
        code = None
        if process is not None and not was_late:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(1.0)
        said = self._said.strip().splitlines()
        self.close()
        if was_late:
            return Skipped(part=ask.part, why=say("no answer in {time} s: it was ended", time=_limit(ask)))
        last = said[-1][:200] if said else say("it said nothing")
        return Skipped(
            part=ask.part, why=say("its process died (exit code {code}): {last}", code=code, last=last)
        )

    def _overhear(self, pipe: IO[str] | None) -> None:
        """Keep the last words of the child, for when it dies."""
        with suppress(OSError, ValueError):
            for line in pipe or ():
                self._said = (self._said + line)[-KEPT_CHARS:]


def _limit(ask: Ask) -> int:
    return round(ask.spare_s * 1.5 + GRACE_S)


def _pass_on(pipe: IO[str] | None, lines: queue.Queue[str | None]) -> None:
    with suppress(OSError, ValueError):
        for line in pipe or ():
            lines.put(line)
    lines.put(None)


def _read(answer: dict[str, Any]) -> Iterator[Result | Skipped]:
    """A record of what the child wrote; anything else is passed over."""
    kinds: dict[str, type[Result | Skipped]] = {"result": Result, "skipped": Skipped}
    for word, kind in kinds.items():
        if word in answer:
            with suppress(DataError):
                yield restored(kind, answer[word], where=word)


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole group; one that cannot be ended (its driver hangs in the kernel) is left alone."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
