"""`plan`: which machine for this model, this work and these limits."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("best machines for a model, a workload and your limits: speed, price, power")


def answer(options: argparse.Namespace) -> Answer:
    """Plan."""
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command
    from rigright.report.pages import plan as pages
    from rigright.verbs.ordering import wish_of
    from rigright.verbs.plan import plan

    fields = typed_options(options, "plan")
    result = plan(
        options.model,
        wish=wish_of(fields, beside=[options.model], language=options.language),
        why=options.why,
        asked=command("plan", [options.model] if options.model else [], fields=fields),
    )
    return Answer.of(pages, result, options=options, take="why details")
