"""`history`: what the watch kept."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("history recorded by `watch` and `bench`: charts, numbers, events, export")


def answer(options: argparse.Namespace) -> Answer:
    """Open the history."""
    from rigright.report.pages import history as pages
    from rigright.verbs.history import MOST_ROWS, ago, history

    back_s, until_s, every_s = options.since, options.until, options.every
    if back_s is not None and until_s is not None and until_s >= back_s:
        raise AskError(say("--until must be more recent than --since"))
    if every_s is None and options.form == "csv":
        every_s = 60.0 if back_s is None else max(back_s / MOST_ROWS, 1.0)
    past = history(
        options.of,
        since_s=None if back_s is None else ago(back_s),
        until_s=None if until_s is None else ago(until_s),
        file=options.file,
        every_s=every_s,
    )
    return Answer.of(pages, past)
