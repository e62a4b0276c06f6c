"""Asks every question of a grid, keeps each answer as it comes, and gathers them in the grid's order."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from rigright.facts import own_prices
from rigright.verbs.sweep import journal
from rigright.verbs.sweep.answer import WORDS, answer
from rigright.verbs.sweep.files import write_answers
from rigright.verbs.sweep.grid import read_grid
from rigright.verbs.sweep.runners import local, ray
from rigright.verbs.sweep.swept import Answered, Cells, SweepQuestion, Swept

Progress = Callable[[int, int], None]


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
        left = [one for one in questions if one.index not in done]
        for place, one in _asked(left, workers=workers, on_ray=on_ray):
            done[one.index] = replace(one, cells=Cells(one.cells))
            places[place] += 1
            if file is not None:
                journal.write(file, one)
            if progress is not None:
                progress(len(done), len(questions))
    result = Swept(
        file=Path(grid).name,
        questions=questions,
        answers=tuple(done[one.index] for one in questions),
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
    questions: Sequence[SweepQuestion], *, workers: int | None, on_ray: str | None
) -> Iterator[tuple[str, Answered]]:
    if not questions:
        return iter(())
    work = partial(_priced, own_prices.used())
    if on_ray is not None:
        return ray.run(work, questions, address=on_ray)
    return local.run(work, questions, workers=workers or os.cpu_count() or 1)


def _priced(prices: tuple[own_prices.NamedList, ...], question: SweepQuestion) -> Answered:
    """An answer with the user's own prices, also where another process gives it."""
    with own_prices.use(*prices):
        return answer(question)
