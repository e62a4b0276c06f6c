"""Asks every question of a grid, keeps each answer as it comes, and gathers them in the grid's order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from rigright.facts import own_prices
from rigright.verbs.sweep import journal, ray
from rigright.verbs.sweep.answer import WORDS, answer
from rigright.verbs.sweep.sheet import Answered, Cells, SweepQuestion, Swept, read_grid, write_answers

Progress = Callable[[int, int], None]
TOGETHER = 10  # neighbours that one process answers, because they ask much the same
ROUNDS = 4  # of each process at least, so that all of them end together


def sweep(
    grid: str,
    *,
    out: str | None = None,
    workers: int | None = None,
    on_ray: str | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Answer a grid of questions; with `out`, a sweep that was broken off goes on where it was."""
    began = time.monotonic()
    questions = read_grid(grid, known=WORDS)
    mark = journal.stamp(questions)
    path = None if out is None else journal.journal_of(out)
    done = {} if path is None else journal.kept(path, mark=mark)
    kept, places = len(done), Counter[str]()
    with nullcontext() if path is None else journal.writing(path, mark=mark, fresh=not done) as file:
        left = [question for question in questions if question.index not in done]
        for place, answered in _asked(left, workers=workers or os.cpu_count() or 1, on_ray=on_ray):
            done[answered.index] = replace(answered, cells=Cells(answered.cells))
            places[place] += 1
            if file is not None:
                journal.write(file, answered)
            if progress is not None:
                progress(len(done), len(questions))
    result = Swept(
        file=Path(grid).name,
        questions=questions,
        cells=tuple(done[question.index] for question in questions),
        kept=kept,
        places=places,
        out=out,
        seconds=time.monotonic() - began,
    )
    if out is not None:
        write_answers(result, out)
    if path is not None:
        path.unlink(missing_ok=True)
    return result


def _asked(
    questions: Sequence[SweepQuestion], *, workers: int, on_ray: str | None
) -> Iterator[tuple[str, Answered]]:
    """Answers as they come, each with the process or node that gave it."""
    work = partial(_priced, own_prices.used())
    if on_ray is not None and questions:
        yield from ray.run(work, questions, address=on_ray)
    elif workers <= 1 or len(questions) <= 1:
        yield from map(partial(_here, work), questions)
    else:
        context = multiprocessing.get_context("spawn")
        size = max(1, min(TOGETHER, len(questions) // (workers * ROUNDS)))
        with ProcessPoolExecutor(min(workers, len(questions)), context, initializer=_deaf) as pool:
            yield from pool.map(partial(_here, work), questions, chunksize=size)


def _priced(prices: tuple[own_prices.NamedList, ...], question: SweepQuestion) -> Answered:
    """An answer with the user's own prices, also where another process gives it."""
    with own_prices.use(*prices):
        return answer(question)


def _here(work: Callable[[SweepQuestion], Answered], question: SweepQuestion) -> tuple[str, Answered]:
    return f"process {os.getpid()}", work(question)


def _deaf() -> None:
    """Ctrl-C is for the parent, which then stops its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
