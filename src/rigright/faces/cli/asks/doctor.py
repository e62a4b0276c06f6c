"""`doctor`: what is wrong, slow or risky on this machine, and how to mend it."""

from __future__ import annotations

import argparse

from rigright.base.errors import DataError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("find what is wrong, slow or risky on a machine: evidence, fix, verification")


def answer(options: argparse.Namespace) -> Answer:
    """Examine it."""
    from rigright.faces.cli.asks.read import answer_of as read_answer
    from rigright.report.fix_script import script
    from rigright.report.pages import doctor as pages
    from rigright.verbs.doctor.frame import doctor, write_script
    from rigright.verbs.read.frame import explained_errors

    only = tuple(word for words in options.only for word in words.split(",") if word.strip())
    try:
        result = doctor(
            options.from_file, only=only, plan=options.plan, baseline=options.baseline, before=options.before
        )
    except DataError:
        explained = explained_errors(options.from_file)
        if explained is None:
            raise
        return read_answer(explained)
    if options.fix_script is not None:
        write_script(options.fix_script, script(result, options.language))
    return Answer(
        page=lambda: pages.page(result, everything=options.all, why=options.why),
        plain=lambda language: (pages.plain_why if options.why else pages.plain)(result, language),
        sheet=lambda: pages.sheet(result),
        exit_code=result.exit_code,
        record=result,
    )
