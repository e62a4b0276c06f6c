"""`simulate`: a load played request by request."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("simulate traffic request by request: queueing, TTFT, TPOT, share within targets")


def answer(options: argparse.Namespace) -> Answer:
    """Play."""
    from rigright.demand import ServingWish
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command, fill, values_of
    from rigright.options.row import TEXT
    from rigright.report.pages import simulate as pages
    from rigright.verbs.simulate.setup import PlayWish
    from rigright.verbs.simulate.verb import simulate

    fields = typed_options(options, "simulate")
    if options.trace is not None and options.requests is not None:  # its name in scripts of before --out
        fields["out"] = fields.pop("requests")
    values = values_of("simulate", fields, kinds=TEXT)
    result = simulate(
        options.model,
        options.on,
        wish=fill(ServingWish, "simulate", values=values),
        load=fill(PlayWish, "simulate", values=values),
        out=values.get("out"),
        asked=command("simulate", [options.model] if options.model else [], fields=fields),
    )
    return Answer.of(pages, result, options=options, take="details")
