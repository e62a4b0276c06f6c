"""`baseline`: what a type of node should be like, and whether a node is."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_from

STAGE = "machine"
SUMMARY = say("baseline of a node type: save it from a known-good node, check others against it")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `baseline`."""
    parser.add_argument(
        "--save", metavar="FILE", help=str(say("save GPUs, links, ports, firmware, clocks and benchmarks"))
    )
    parser.add_argument("--check", metavar="FILE", help=str(say("compare with a saved baseline")))
    parser.add_argument(
        "--bench",
        metavar="FILE",
        help=str(say("results of `bench --save`; default: the latest in this machine's history")),
    )
    add_from(parser)


def answer(options: argparse.Namespace) -> Answer:
    """Save one, or check against one."""
    from rigright.report.pages import baseline as pages
    from rigright.verbs.baseline import SavedBaseline, baseline

    found = baseline(save=options.save, check=options.check, from_file=options.from_file, bench=options.bench)
    if isinstance(found, SavedBaseline):
        saved = found
        return Answer(
            page=lambda: pages.page(saved.machine, saved.baseline),
            plain=lambda language: pages.plain(saved.baseline, language),
            record=saved,
        )
    result, expected = found
    return Answer(
        page=lambda: pages.check_page(result, expected),
        plain=lambda language: pages.check_plain(
            pages.HeldAgainst(result=result, baseline=expected), language
        ),
        exit_code=result.exit_code,
        record=result,
    )
