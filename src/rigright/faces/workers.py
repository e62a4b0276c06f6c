"""Processes that answer for the page: several at once, each question within its time, else killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, LifoQueue, SimpleQueue
from threading import Thread
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError
from rigright.base.patience import patience
from rigright.base.plain import dumps
from rigright.base.units import MIB, show_seconds
from rigright.base.words import say
from rigright.faces import page
from rigright.faces.cli.trouble import trouble
from rigright.faces.reply import Printed, reply

BUDGET_S = 20.0  # of one answer
MOST_WORKERS = 4
MOST_LINE = 256 * MIB
FIRST: Mapping[str, Any] = {"model": "qwen3-32b", "concurrency": "8", "mode": "chat"}
_START = (
    "import sys; sys.path[:] = [one for one in sys.path if one]; "
    "from rigright.faces.workers import work; work()"
)


class AnswerPool:
    """So many processes, each started when it is first needed and again when it was killed."""

    def __init__(self, count: int | None = None, *, budget_s: float = BUDGET_S) -> None:
        self.count = count or min(max(os.cpu_count() or 1, 2), MOST_WORKERS)
        self._budget_s = budget_s
        self._idle: LifoQueue[_Worker | None] = LifoQueue()
        for _ in range(self.count):
            self._idle.put(None)

    def ask(self, job: Mapping[str, Any], *, language: str = "en") -> Printed:
        """The answer; of one that takes too long, or takes its process down, that it did."""
        worker = self._idle.get()
        try:
            worker = worker or _Worker()
            return Printed(**worker.ask(job, within_s=patience(self._budget_s)))
        except Empty:
            late = say("the answer took longer than {time}", time=show_seconds(self._budget_s))
            error = AskError(late, hint=say("ask for less: one machine, fewer models, a smaller file"))
        except (OSError, ValueError, TypeError):
            error = AskError(say("no answer: the process that worked on it is gone"))
        finally:
            self._idle.put(worker)
        if worker is not None:
            worker.stop()
        result = trouble(error, [str(job.get("verb", "")).replace("_", "-")])
        text = dumps(result.record(language), language) + "\n"
        return Printed(text=text, exit_code=result.exit_code, failed=True)

    def warm(self) -> None:
        """Have every process read its tables before anybody waits for them."""
        for _ in range(self.count):
            Thread(target=self.ask, args=({"verb": "plan", "first": True},), daemon=True).start()

    def close(self) -> None:
        """End them."""
        for _ in range(self.count):
            with suppress(Empty):
                worker = self._idle.get_nowait()
                if worker is not None:
                    worker.stop()


class _Worker:
    """One process; it is started again where it was stopped."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-S", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"},
            start_new_session=True,  # Ctrl-C is for us
        )
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=self._listen, args=(self._process, self._lines), daemon=True).start()
        return self._process

    @staticmethod
    def _listen(process: subprocess.Popen[bytes], lines: SimpleQueue[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        while line := process.stdout.readline(MOST_LINE):
            lines.put(line)
        lines.put(b"")

    def ask(self, job: Mapping[str, Any], *, within_s: float) -> dict[str, Any]:
        """What it says to a job; Empty where that takes longer."""
        process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        answer: dict[str, Any] = bounded_json(self._lines.get(timeout=within_s))
        return answer

    def stop(self) -> None:
        """Kill it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()


def done(job: Mapping[str, Any]) -> Printed:
    """A job, in this very process: a question of the page, or a file that was dropped on it."""
    if job.get("first"):
        return reply("plan", FIRST)
    if "file" in job:
        raw = Path(job["file"]).read_bytes()
        fields = {name: job[name] for name in ("verb", "form", "language", "name", "every")}
        return page.dropped(raw, **fields)
    asked = page.read(job["sent"])
    assert asked is not None  # noqa: S101 - the page has read it
    return asked.answer()


def work() -> None:
    """What such a process does: a line a job, a line an answer; nothing else may be printed there."""
    told = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        printed = done(bounded_json(line))
        answer = {"text": printed.text, "exit_code": printed.exit_code, "failed": printed.failed}
        told.write(json.dumps(answer).encode() + b"\n")
        told.flush()
