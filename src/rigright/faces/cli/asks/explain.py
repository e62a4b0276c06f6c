"""`explain`: one model on one machine, serving or training."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("one model on one machine: memory by part and GPU, limits, and what to change")


def answer(options: argparse.Namespace) -> Answer:
    """Explain."""
    from rigright.demand import PlanWish, ServingWish, TrainingWish
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command, fill, kinds_typed, values_of
    from rigright.options.row import TRAINS

    fields = typed_options(options, "explain")
    kinds = kinds_typed(fields)
    values = values_of("explain", fields, kinds=kinds, home=_home(options, fields))
    work = fill(PlanWish, "explain", values=values | {"budget_said": fields.get("budget")})
    if "currency" in values and "currency" not in fields:
        from rigright.verbs.paid import in_dollars

        work = in_dollars(work)
    given = {
        "why": options.why,
        "asked": command("explain", [options.model], fields=fields),
        "work": work,
    }
    if kinds <= TRAINS:
        from rigright.report.pages import training
        from rigright.verbs.explain_training import explain_training

        trained = explain_training(
            options.model, options.on, wish=fill(TrainingWish, "explain", values=values), **given
        )
        return Answer.of(training, trained, options=options, take="why details")
    from rigright.report.pages import explain as pages
    from rigright.verbs.explain import explain

    result = explain(options.model, options.on, wish=fill(ServingWish, "explain", values=values), **given)
    return Answer.of(pages, result, options=options, take="why details")


def _home(options: argparse.Namespace, fields: Mapping[str, str]) -> str:
    """The currency of who asks."""
    typed = [options.model, options.on]
    if "place" not in fields:
        from rigright.base.money import home_of

        return home_of((*fields.values(), *typed), options.language)
    from rigright.verbs.ordering import paid_in

    return paid_in(fields, typed, language=options.language)
