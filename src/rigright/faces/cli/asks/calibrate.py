"""`calibrate`: corrections refitted from measured runs, or figures re-anchored to runs of the user's own."""

from __future__ import annotations

import argparse
import sys

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("refit the corrections from measured runs, or re-anchor figures to runs of your own")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `calibrate`."""
    parser.add_argument(
        "--from", dest="own", metavar="FILE.csv", help=str(say("runs of your own: figures are moved to them"))
    )
    parser.add_argument(
        "--out", metavar="FILE", help=str(say("where your own runs are kept; by default your settings"))
    )
    parser.add_argument("--subject", metavar="NAME", help=str(say("one table of corrections alone")))
    parser.add_argument(
        "--runs", nargs="+", default=[], metavar="FILE.csv", help=str(say("measured runs to refit from"))
    )
    parser.add_argument(
        "--write", action="store_true", help=str(say("write the corrections; without it only told"))
    )


def answer(options: argparse.Namespace) -> Answer:
    """Refit, or re-anchor."""
    from rigright.report.pages import calibrate as pages

    if options.own is not None:
        if options.subject or options.runs or options.write:
            raise AskError(say("--from stands alone: --subject, --runs and --write refit the corrections"))
        from rigright.verbs.calibrate.anchoring import anchor

        anchored = anchor(options.own, out=options.out)
        return Answer(
            page=lambda: pages.anchored_page(anchored),
            plain=lambda language: pages.anchored_plain(anchored, language),
        )
    if options.out is not None:
        raise AskError(
            say("--out is for --from: the corrections are written in their own place with --write")
        )
    from rigright.verbs.calibrate.frame import calibrate

    result = calibrate(options.subject, runs=options.runs, write=options.write, tell=_tell)
    return Answer(page=lambda: pages.page(result), plain=lambda language: pages.plain(result, language))


def _tell(line: str) -> None:
    """Progress, where somebody looks."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")
