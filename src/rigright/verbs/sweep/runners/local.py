"""On the cores of this machine: one process each."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Asked = TypeVar("Asked")
Given = TypeVar("Given")
TOGETHER = 10  # neighbours that one process answers, because they ask much the same
ROUNDS = 4  # of each process at least, so that all of them end together


def run(
    work: Callable[[Asked], Given], asked: Sequence[Asked], *, workers: int
) -> Iterator[tuple[str, Given]]:
    """Answers as they come, each with the process that gave it."""
    if workers <= 1 or len(asked) <= 1:
        yield from ((_name(), work(one)) for one in asked)
        return
    pool = ProcessPoolExecutor(
        min(workers, len(asked)), mp_context=multiprocessing.get_context("spawn"), initializer=_deaf
    )
    try:
        size = max(1, min(TOGETHER, len(asked) // (workers * ROUNDS)))
        parts = [asked[start : start + size] for start in range(0, len(asked), size)]
        for done in as_completed([pool.submit(_named, work, part) for part in parts]):
            name, found = done.result()
            yield from ((name, one) for one in found)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _named(work: Callable[[Asked], Given], part: Sequence[Asked]) -> tuple[str, list[Given]]:
    return _name(), [work(one) for one in part]


def _name() -> str:
    return f"process {os.getpid()}"


def _deaf() -> None:
    """Ctrl-C is for the parent, which then stops its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
