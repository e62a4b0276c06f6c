"""`read`: what a guide says, claim by claim, against the program's own facts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

if TYPE_CHECKING:
    from rigright.verbs.read.record import ReadGuide

STAGE = "know"
SUMMARY = say("judge a guide: each claim, parts list, command and error in it, with the right figure")


def answer(options: argparse.Namespace) -> Answer:
    """Read it."""
    from rigright.verbs.read.frame import read

    return answer_of(read(options.file), details=options.details)


def answer_of(result: ReadGuide, *, details: bool = False) -> Answer:
    """What was read, in every form."""
    from rigright.report.pages import read as pages

    return Answer(
        page=lambda: pages.page(result, details=details),
        plain=lambda language: pages.plain(result, language),
        sheet=lambda: pages.sheet(result),
        record=result,
    )
