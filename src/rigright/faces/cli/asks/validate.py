"""`validate`: predictions against measured runs."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("compare predictions with measured runs: a table or benchmark output")


def answer(options: argparse.Namespace) -> Answer:
    """Validate a file."""
    from rigright.base.files import STDIN
    from rigright.faces.cli.options import typed_options
    from rigright.faces.cli.terminal import counting
    from rigright.report.pages import validate as pages
    from rigright.verbs.runs.columns import setup_of
    from rigright.verbs.validate.record import predictions_csv, write_predictions
    from rigright.verbs.validate.verb import validate

    out = options.predictions
    if out == STDIN and options.form != "text":
        raise AskError(
            say("--predictions - and --{form} both write to stdout; give a file name", form=options.form)
        )
    setup = setup_of("validate", typed_options(options, "validate"))
    with counting(options.language) as progress:
        result = validate(options.files, setup=setup, progress=progress)
    if out is not None and out != STDIN:
        write_predictions(result, out, language=options.language)
    return Answer.of(
        pages, result, text=(lambda: predictions_csv(result, options.language)) if out == STDIN else None
    )
