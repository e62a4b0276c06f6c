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
    from rigright.faces.cli.options import said_in
    from rigright.options.read import command, fill, kinds_said, values_of
    from rigright.options.row import TRAINS
    from rigright.verbs.paid import in_dollars

    said = said_in(options, "explain")
    kinds = kinds_said(said)
    values = values_of("explain", said, kinds=kinds, beside=[options.model], local=_currency(said))
    work = fill(PlanWish, "explain", values=values | {"budget_said": said.get("budget")})
    told = {
        "why": options.why,
        "asked": command("explain", [options.model], said=said),
        "work": work if "currency" in said else in_dollars(work),
    }
    if kinds <= TRAINS:
        from rigright.report.pages import training
        from rigright.verbs.explain_training import explain_training

        trained = explain_training(
            options.model, options.on, wish=fill(TrainingWish, "explain", values=values), **told
        )
        return Answer(
            page=lambda: training.page(trained, why=options.why, details=options.details),
            plain=lambda language: training.plain(trained, language),
            record=trained,
        )
    from rigright.report.pages import explain as pages
    from rigright.verbs.explain import explain

    result = explain(options.model, options.on, wish=fill(ServingWish, "explain", values=values), **told)
    return Answer(
        page=lambda: pages.page(result, why=options.why, details=options.details),
        plain=lambda language: pages.plain(result, language),
        record=result,
    )


def _currency(said: Mapping[str, str]) -> str | None:
    """What is paid with at the place that was named."""
    if "place" not in said:
        return None
    from rigright.verbs.wished import local_of

    return local_of(said)
