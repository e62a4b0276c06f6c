"""`read`: what a guide says, claim by claim, against the program's own facts."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("judge a guide: each claim, parts list, command and error in it, with the right figure")


def answer(options: argparse.Namespace) -> Answer:
    """Read it."""
    from rigright.report.pages import read as pages
    from rigright.verbs.read.verb import read

    result = read(options.file)
    return Answer.of(pages, result, options=options, take="details")
