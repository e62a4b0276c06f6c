"""`web`: the verbs as a page in the browser."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("the same answers as a page in the browser: plan, compare, build, doctor, this machine live")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `web`."""
    parser.add_argument(
        "--serve",
        metavar="[HOST:]PORT",
        default="9479",
        help=str(say("listen at this address; on 127.0.0.1, port 9479 where none is said")),
    )
    parser.add_argument(
        "--token",
        metavar="FILE",
        help=str(say("whoever asks must bear the token in this file; needed beyond 127.0.0.1")),
    )
    parser.add_argument(
        "--hub",
        action="store_true",
        help=str(say("let questions look up models on the hub; without it nothing is fetched")),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Serve until Ctrl-C."""
    from rigright.faces import web
    from rigright.report.pages import agents as pages

    web.serve(options.serve, token_file=options.token, hub=options.hub, language=options.language)
    options.form = "text"  # all was said
    return Answer(page=pages.ended, plain=lambda _language: None, text=str)
