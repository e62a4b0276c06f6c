"""`web`: the verbs as a page in the browser."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("web page with the same answers: plan, compare, build, doctor, live view of this machine")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `web`."""
    parser.add_argument(
        "--serve",
        metavar="[HOST:]PORT",
        default="9479",
        help=str(say("listen address; default: 127.0.0.1:9479")),
    )
    parser.add_argument(
        "--token",
        metavar="FILE",
        help=str(say("require the token in this file; mandatory beyond 127.0.0.1")),
    )
    parser.add_argument(
        "--hub",
        action="store_true",
        help=str(say("allow looking up models on the hub; default: offline")),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Serve until Ctrl-C."""
    from rigright.faces import web
    from rigright.report.pages import agents as pages

    web.serve(options.serve, token_file=options.token, hub=options.hub, language=options.language)
    options.form = "text"  # all was said
    return Answer(page=pages.ended, plain=lambda _language: None, text=str)
