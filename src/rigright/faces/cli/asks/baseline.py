"""`baseline`: what a type of node should be like, and whether a node is."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_from

STAGE = "machine"
SUMMARY = say("what a node type should be like: save it from a good node, hold others against it")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `baseline`."""
    parser.add_argument(
        "--save", metavar="FILE", help=str(say("write cards, links, ports, firmware, clocks and benchmarks"))
    )
    parser.add_argument(
        "--check", metavar="FILE", help=str(say("what differs from a baseline that was saved"))
    )
    parser.add_argument(
        "--bench",
        metavar="FILE",
        help=str(say("figures that `bench --save` wrote; else the last of this machine's history")),
    )
    add_from(parser)


def answer(options: argparse.Namespace) -> Answer:
    """Save one, or check against one."""
    from rigright.report.pages import baseline as pages
    from rigright.verbs import baseline

    if (options.save is None) == (options.check is None):
        raise AskError(
            say("baseline wants one of --save FILE and --check FILE"),
            hint=say("write for example {example}", example="rigright baseline --save h100.toml"),
        )
    if options.save is not None:
        saved = baseline.save(options.save, from_file=options.from_file, bench=options.bench)
        return Answer(
            page=lambda: pages.page(saved.machine, saved.baseline),
            plain=lambda _language: pages.plain(saved.baseline),
        )
    result, expected = baseline.check(options.check, from_file=options.from_file, bench=options.bench)
    return Answer(
        page=lambda: pages.check_page(result, expected),
        plain=lambda language: pages.check_plain(result, expected, language=language),
        exit_code=result.exit_code,
    )
