"""`validate`: predictions against measured runs."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("predictions against measured runs: a CSV of ours or of your own")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `validate`."""
    parser.add_argument(
        "file", metavar="FILE.csv", help=str(say("measured runs, a row each; - is standard input"))
    )
    parser.add_argument(
        "--predictions",
        metavar="OUT.csv",
        help=str(say("write every prediction to a table; - is standard output")),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Validate a file."""
    from rigright.report.pages import validate as pages
    from rigright.verbs.validate.files import STDIO, predictions_csv, write_predictions
    from rigright.verbs.validate.frame import validate

    out = options.predictions
    if out == STDIO and options.form != "text":
        raise AskError(
            say("--predictions - and --{form} both want standard output; name a file", form=options.form)
        )
    result = validate(options.file)
    if out is not None and out != STDIO:
        write_predictions(result, out, language=options.language)
    return Answer(
        page=lambda: pages.page(result),
        plain=lambda language: pages.plain(result, language),
        text=(lambda: predictions_csv(result, options.language)) if out == STDIO else None,
    )
