"""`web`: the verbs as a page in the browser."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("open the web app: plan, compare, build, doctor, live view of this machine")


def answer(options: argparse.Namespace) -> Answer:
    """Serve until Ctrl-C."""
    from rigright.faces import web
    from rigright.report.pages import export as pages

    web.serve(options.serve, token_file=options.token, hub=options.hub, language=options.language)
    options.form = "text"  # all was said
    return Answer(page=pages.ended_page, plain=lambda _language: None, text=str)
