"""`cost`: a machine for years, bought or rented."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("cost of a machine over years: buy, rent or API, and when buying pays off")


def answer(options: argparse.Namespace) -> Answer:
    """Cost it."""
    from rigright.demand import CostWish
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command, fill, values_of
    from rigright.report.pages import cost as pages
    from rigright.verbs.cost import cost
    from rigright.verbs.ordering import paid_in, wish_of

    fields = typed_options(options, "cost")
    named = [name for name in (options.what, options.from_file) if name is not None]
    if len(named) > 1 or not (named or "own" in fields or options.model):
        raise AskError(
            say("give one machine, model or plan"),
            hint=say("for example {example}", example='rigright cost "2x rtx 4090"'),
        )
    what = named[0] if named else fields.get("own") or options.model
    model = options.model if named or "own" in fields else None
    typed = [*named, *(() if options.model is None else ("--for", options.model))]
    beside = [options.what, options.model]
    home = paid_in(fields, beside, language=options.language)
    result = cost(
        what,
        wish=wish_of(fields, verb="cost", beside=beside, language=options.language),
        spend=fill(CostWish, "cost", values=values_of("cost", fields, home=home)),
        model=model,
        asked=command("cost", typed, fields=fields),
    )
    return Answer.of(pages, result, options=options, take="why details")
