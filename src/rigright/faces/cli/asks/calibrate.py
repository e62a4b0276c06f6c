"""`calibrate`: figures re-anchored to runs of the user's own."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("move figures to runs of your own")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `calibrate`."""
    parser.add_argument(
        "--from",
        dest="own",
        metavar="FILE.csv",
        required=True,
        help=str(say("runs of your own: figures are moved to them")),
    )
    parser.add_argument(
        "--out", metavar="FILE", help=str(say("where your own runs are kept; by default your settings"))
    )


def answer(options: argparse.Namespace) -> Answer:
    """Re-anchor."""
    from rigright.report.pages import calibrate as pages
    from rigright.verbs.calibrate.anchoring import anchor

    anchored = anchor(options.own, out=options.out)
    return Answer(page=lambda: pages.page(anchored), plain=lambda language: pages.plain(anchored, language))
