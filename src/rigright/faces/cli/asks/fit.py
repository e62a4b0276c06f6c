"""`fit`: what runs on this machine."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("what runs on a machine: models and formats that fit, with maximum context, best first")


def answer(options: argparse.Namespace) -> Answer:
    """Find what fits."""
    from rigright.base.errors import AskError
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command, fill, values_of
    from rigright.report.pages import fit as pages
    from rigright.verbs.fit import FitWish, fit

    fields = typed_options(options, "fit")
    if options.machine is not None:
        if options.on is not None:
            raise AskError(
                say(
                    "two machines: {one} and {option} {other}",
                    one=options.machine,
                    option="--on",
                    other=options.on,
                ),
                hint=say("give one; to compare several, use `rigright compare`"),
            )
        options.on = fields["on"] = options.machine
    values = values_of("fit", fields)
    if values.get("limit") == 0:
        values["limit"] = None
    result = fit(
        options.on, wish=fill(FitWish, "fit", values=values), asked=command("fit", [], fields=fields)
    )
    return Answer.of(pages, result, options=options, take="details")
