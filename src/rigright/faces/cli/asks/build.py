"""`build`: a machine around the cards, part by part; or a list of parts, judged."""

from __future__ import annotations

import argparse

from rigright.base.errors import clash
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "plan"
SUMMARY = say("a complete machine around the GPUs: parts list; or check your own list")


def answer(options: argparse.Namespace) -> Answer:
    """Judge a list, or put a machine together."""
    named = [value for value in (options.what, options.check, options.from_file) if value is not None]
    if len(named) > 1:
        raise clash(named[0], named[1])
    from rigright.faces.cli.options import typed_options

    if options.check is not None:
        for option in typed_options(options, "plan").keys() - {"room"}:
            raise clash("--check", f"--{option}")
        return _checked(options)
    from rigright.options.read import command
    from rigright.report.pages import build as pages
    from rigright.verbs.build import build
    from rigright.verbs.ordering import wish_of

    fields = typed_options(options, "plan")
    typed = [] if options.what is None else [options.what]
    typed += [] if options.from_file is None else ["--from", options.from_file]
    result = build(
        options.what,
        wish=wish_of(fields, beside=[options.what, options.room, options.have], language=options.language),
        from_file=options.from_file,
        asked=command("build", typed, fields=fields),
    )
    return Answer.of(pages, result, options=options, take="why details")


def _checked(options: argparse.Namespace) -> Answer:
    """Judge the list."""
    from rigright.report.pages import build_check as pages
    from rigright.verbs.build import EXITS, check

    result = check(options.check, room=options.room)
    return Answer.of(pages, result, options=options, take="details", exit_code=EXITS[result.verdict])
