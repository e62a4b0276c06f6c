"""`diagnose`: the bottleneck, with evidence."""

from __future__ import annotations

import argparse

from rigright.base.units import parse_seconds, show_seconds
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_from
from rigright.faces.cli.terminal import written_over

STAGE = "machine"
SUMMARY = say("find the bottleneck of a running job: GPU, memory, CPU, disk, network, PCIe, power, heat")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `diagnose`."""
    parser.add_argument(
        "--for",
        dest="live",
        metavar="TIME",
        help=str(say("sample now for this long: 30s; 20s without a history")),
    )
    parser.add_argument(
        "--since", metavar="TIME", help=str(say("use this much of the history recorded by `watch`: 1h"))
    )
    parser.add_argument("--history", metavar="FILE", help=str(say("use this history instead of your own")))
    add_from(parser)


def answer(options: argparse.Namespace) -> Answer:
    """Diagnose."""
    from rigright.report.pages import diagnose as pages
    from rigright.verbs.diagnose import diagnose

    result = diagnose(
        options.from_file,
        since_s=None if options.since is None else parse_seconds(options.since),
        live_s=None if options.live is None else parse_seconds(options.live),
        history=options.history,
        progress=lambda gone_s, all_s: show_progress(gone_s, all_s, language=options.language),
    )
    return Answer(
        page=lambda: pages.page(result), plain=lambda language: pages.plain(result, language), record=result
    )


def show_progress(gone_s: float, all_s: float, *, language: str) -> None:
    """How much of the time has gone."""
    said = say("watched {gone} of {all}", gone=show_seconds(gone_s), all=show_seconds(all_s))
    written_over(said, language, is_last=gone_s >= all_s)
