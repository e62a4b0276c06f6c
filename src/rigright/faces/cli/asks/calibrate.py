"""`calibrate`: figures re-anchored to runs of the user's own."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("calibrate predictions to your own runs")


def answer(options: argparse.Namespace) -> Answer:
    """Re-anchor."""
    from rigright.faces.cli.options import typed_options
    from rigright.faces.cli.terminal import counting
    from rigright.report.pages import calibrate as pages
    from rigright.verbs.calibrate.verb import calibrate
    from rigright.verbs.runs.columns import setup_of

    setup = setup_of("calibrate", typed_options(options, "calibrate"))
    with counting(options.language) as progress:
        anchored = calibrate(options.own, out=options.out, setup=setup, progress=progress)
    return Answer.of(pages, anchored)
