"""`sweep`: a grid of questions for `plan`, here or on a Ray cluster."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.terminal import written_over

STAGE = "plan"
SUMMARY = say("run `plan` over a grid of models, workloads, limits and prices")


def answer(options: argparse.Namespace) -> Answer:
    """Sweep."""
    from rigright.report.pages import sweep as pages
    from rigright.verbs.sweep.verb import sweep

    if options.ray is not None and options.workers is not None:
        raise AskError(say("--workers applies to this machine only; a Ray cluster uses all its cores"))
    result = sweep(
        options.grid,
        out=options.out,
        workers=options.workers,
        on_ray=options.ray,
        progress=lambda done, questions: _progress(done, questions, language=options.language),
    )
    return Answer.of(pages, result, options=options, take="details")


def _progress(done: int, questions: int, *, language: str) -> None:
    sentence = say("{done} of {questions} answered", done=done, questions=questions)
    written_over(sentence, language, is_last=done == questions)
