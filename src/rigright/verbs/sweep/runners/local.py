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
        for done in as_completed([pool.submit(_named, work, one) for one in asked]):
            yield done.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _named(work: Callable[[Asked], Given], one: Asked) -> tuple[str, Given]:
    return _name(), work(one)


def _name() -> str:
    return f"process {os.getpid()}"


def _deaf() -> None:
    """Ctrl-C is for the parent, which then stops its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
