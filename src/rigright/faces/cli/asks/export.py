"""`export TARGET`: files for other programs."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.units import parse_seconds
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("files for other programs: prometheus, grafana, alerts")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `export`."""
    parser.add_argument("target", metavar="TARGET", help=str(say("prometheus, grafana or alerts")))
    parser.add_argument(
        "--out", metavar="FOLDER", help=str(say("write the files here; without it they are printed"))
    )
    parser.add_argument(
        "--watched",
        action="append",
        metavar="HOST:PORT",
        help=str(say("where `watch --serve` answers; may be given again; 127.0.0.1:9477")),
    )
    parser.add_argument(
        "--alertmanager",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help=str(say("whom to tell of alerts")),
    )
    parser.add_argument(
        "--token-file",
        metavar="PATH",
        help=str(say("the token that `watch --token` asks for, as Prometheus finds it")),
    )
    parser.add_argument("--every", metavar="TIME", help=str(say("time between two scrapes; 15s")))


def answer(options: argparse.Namespace) -> Answer:
    """Export."""
    from rigright.report.pages.export import page, plain
    from rigright.report.pages.files import text
    from rigright.verbs.export import export, write

    files = export(
        options.target,
        watched=tuple(options.watched or ()),
        alertmanagers=tuple(options.alertmanager),
        token_file=options.token_file,
        every_s=None if options.every is None else _seconds(options.every),
        language=options.language,
    )
    if options.out is None:
        return Answer(
            page=lambda: page((), files), plain=lambda _: plain((), files), text=lambda: text(files)
        )
    written = write(files, options.out)
    return Answer(page=lambda: page(written, files), plain=lambda _: plain(written, files))


def _seconds(text: str) -> float:
    every_s = parse_seconds(text)
    if every_s < 1:
        raise AskError(say("a scrape every {time} is too often; 1s is the least", time=text))
    return every_s
