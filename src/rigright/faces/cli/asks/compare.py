"""`compare`: chips, machines or clouds side by side for one work."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("GPUs, machines or clouds side by side for one workload: speed, price, power, roofline")


def answer(options: argparse.Namespace) -> Answer:
    """Compare."""
    from rigright.faces.cli.options import said_in
    from rigright.options.read import command, read_wish
    from rigright.report.pages import compare as pages
    from rigright.verbs.compare import compare

    said = said_in(options, "compare")
    result = compare(
        options.things,
        model=options.model,
        wish=read_wish(said, verb="compare"),
        asked=command("compare", [*options.things, "--for", options.model], said=said),
    )
    return Answer(
        page=lambda: pages.page(result, why=options.why, details=options.details),
        plain=lambda language: pages.plain(result, language),
        record=result,
    )
