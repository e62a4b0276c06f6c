"""`upgrade`: which part to change first."""

from __future__ import annotations

import argparse

from rigright.base.record import replace
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.asks.diagnose import show_progress

STAGE = "machine"
SUMMARY = say("what to upgrade first: gain, cost, requirements and roll-out")


def answer(options: argparse.Namespace) -> Answer:
    """Rank changes."""
    from rigright.base.money import home_of
    from rigright.report.pages import upgrade as pages
    from rigright.verbs.upgrade import upgrade

    home = home_of((), options.language)
    budget = options.budget
    result = upgrade(
        options.from_file,
        bound=options.bound,
        machines=options.machines,
        budget_usd=None if budget is None else budget.usd(home),
        room=options.room,
        progress=lambda gone_s, all_s: show_progress(gone_s, all_s, language=options.language),
    )
    result = replace(result, currency=home if budget is None else budget.currency or home)
    return Answer.of(pages, result, exit_code=result.exit_code)
