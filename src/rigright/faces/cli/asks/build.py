"""`build`: a machine around the cards, part by part; or a list of parts, judged."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("a whole machine around the cards: parts to order; or your own list of parts, checked")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `build`."""
    parser.add_argument(
        "--check",
        metavar="FILE",
        help=str(say("judge a list of parts, a part a line (cpu: ..., gpu: 2x RTX 4090); - is stdin")),
    )
    parser.add_argument("--room", metavar="TEXT", help=str(say('what feeds it: "110V 15A", "220V 16A"')))


def answer(options: argparse.Namespace) -> Answer:
    """Judge the list."""
    from rigright.report.assembled import EXITS
    from rigright.report.pages import build_check as pages
    from rigright.verbs.build import check

    if options.check is None:
        raise AskError(
            say("nothing to build"),
            hint=say("name a list of parts: {example}", example="rigright build --check parts.txt"),
        )
    result = check(options.check, room=options.room)
    return Answer(
        page=lambda: pages.page(result, details=options.details),
        plain=lambda language: pages.plain(result, language),
        exit_code=EXITS[result.verdict],
    )
