"""`upgrade`: which part to change first."""

from __future__ import annotations

import argparse

from rigright.base.units import parse_count
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.asks.diagnose import show_progress
from rigright.faces.cli.machine_options import add_from

STAGE = "machine"
SUMMARY = say("what to upgrade first: gain, cost, requirements and roll-out")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `upgrade`."""
    parser.add_argument(
        "--bound",
        metavar="SHARES",
        help=str(say('the bottleneck, if you know it: "disk=60%,compute=40%"; else it is diagnosed')),
    )
    parser.add_argument("--machines", metavar="N", help=str(say("number of machines to upgrade")))
    parser.add_argument("--budget", metavar="MONEY", help=str(say("total budget: 8000usd, 5万")))
    add_from(parser)


def answer(options: argparse.Namespace) -> Answer:
    """Rank changes."""
    from rigright.base.money import parse_money
    from rigright.report.pages import upgrade as pages
    from rigright.verbs.upgrade.frame import upgrade

    result = upgrade(
        options.from_file,
        bound=options.bound,
        machines=1 if options.machines is None else parse_count(options.machines),
        budget_usd=None if options.budget is None else parse_money(options.budget).usd(),
        progress=lambda gone_s, all_s: show_progress(gone_s, all_s, language=options.language),
    )
    return Answer(
        page=lambda: pages.page(result), plain=lambda language: pages.plain(result, language), record=result
    )
