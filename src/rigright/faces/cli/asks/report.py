"""`report`: the paper for whoever signs."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("decision paper: need, options, cost over years, risks, bill of materials, acceptance test")


def answer(options: argparse.Namespace) -> Answer:
    """Write the paper."""
    from rigright.faces.cli.options import typed_options
    from rigright.options.read import command
    from rigright.report.pages import report as pages
    from rigright.report.screen import Screen
    from rigright.verbs.ordering import wish_of
    from rigright.verbs.report import is_plan, report, write

    fields = typed_options(options, "plan")
    if not is_plan(options.what):
        result = report(
            options.what,
            wish=wish_of(fields, beside=[options.what], language=options.language),
            language=options.language,
            asked=command("plan", [options.what], fields=fields),
        )
    elif fields:
        raise AskError(
            say("the file already has a plan: --{option} would change it", option=next(iter(fields)))
        )
    else:
        result = report(from_file=options.what)
    if options.out is not None:
        write(options.out, pages.document(result, Screen(language=options.language)))
    return Answer(
        page=lambda: pages.page(result) if options.out is None else pages.written(result, options.out),
        plain=lambda language: pages.plain(result, language),
        sheet=lambda: pages.sheet(result),
        record=result,
    )
