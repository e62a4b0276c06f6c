"""`history`: what the watch kept."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.units import parse_seconds
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("history recorded by `watch` and `bench`: charts, numbers, events, export")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `history`."""
    parser.add_argument(
        "--since", metavar="TIME", default="1h", help=str(say('how far back: 10min, 1h, 7d; or "all"'))
    )
    parser.add_argument(
        "--until", metavar="TIME", help=str(say("end of the period, as time ago; default: now"))
    )
    parser.add_argument(
        "--of",
        choices=("ticks", "bench", "machines", "events"),
        default="ticks",
        help=str(say("ticks, bench, machines or events")),
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        help=str(say("with --csv or --json: also the samples, at most one per this interval; 1s: all")),
    )
    parser.add_argument("--file", metavar="FILE", help=str(say("use this history file")))


def answer(options: argparse.Namespace) -> Answer:
    """Open the history."""
    from rigright.report.pages import history as pages
    from rigright.verbs.history.frame import MOST_ROWS, ago, history

    back_s = None if options.since == "all" else parse_seconds(options.since)
    until_s = None if options.until is None else parse_seconds(options.until)
    if back_s is not None and until_s is not None and until_s >= back_s:
        raise AskError(say("--until must be more recent than --since"))
    every_s = None if options.every is None else parse_seconds(options.every)
    if every_s is None and options.form == "csv":
        every_s = 60.0 if back_s is None else max(back_s / MOST_ROWS, 1.0)
    found = history(
        options.of,
        since_s=None if back_s is None else ago(back_s),
        until_s=None if until_s is None else ago(until_s),
        file=options.file,
        every_s=every_s,
    )
    return Answer(
        page=lambda: pages.page(found),
        plain=lambda language: pages.plain(found, language),
        sheet=lambda: pages.sheet(found),
        record=found,
    )
