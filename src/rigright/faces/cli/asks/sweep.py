"""`sweep`: a grid of questions for `plan`, here or on a Ray cluster."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.terminal import written_over

STAGE = "plan"
SUMMARY = say("run `plan` over a grid of models, workloads, limits and prices")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `sweep`."""
    parser.add_argument(
        "grid",
        metavar="GRID.csv",
        help=str(
            say(
                'columns: "model", any option of plan, "play" (requests to simulate), "seed"; "a | '
                'b" in a cell means both; - is stdin'
            )
        ),
    )
    parser.add_argument(
        "--out", metavar="OUT.csv", help=str(say("write the answers here; an interrupted sweep resumes"))
    )
    parser.add_argument("--workers", metavar="N", help=str(say("processes; default: one per core")))
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help=str(say('run on a Ray cluster: "auto", or host:port of its head node')),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Sweep."""
    from rigright.report.pages import sweep as pages
    from rigright.verbs.sweep.frame import sweep

    if options.ray is not None and options.workers is not None:
        raise AskError(say("--workers applies to this machine only; a Ray cluster uses all its cores"))
    workers = None if options.workers is None else parse_count(options.workers)
    if workers is not None and workers < 1:
        raise AskError(say("--workers must be at least 1, got {workers}", workers=workers))
    result = sweep(
        options.grid,
        out=options.out,
        workers=workers,
        on_ray=options.ray,
        progress=lambda done, questions: _progress(done, questions, language=options.language),
    )
    return Answer(
        page=lambda: pages.page(result, why=options.why, details=options.details),
        plain=lambda language: pages.plain(result, language),
        sheet=lambda: pages.sheet(result),
        record=result,
    )


def _progress(done: int, questions: int, *, language: str) -> None:
    said = say("{done} of {questions} answered", done=done, questions=questions)
    written_over(said, language, is_last=done == questions)
