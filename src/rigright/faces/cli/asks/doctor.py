"""`doctor`: what is wrong, slow or risky on this machine, and how to mend it."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("find what is wrong, slow or risky on a machine: evidence, fix, verification")


def answer(options: argparse.Namespace) -> Answer:
    """Examine it."""
    from rigright.report.fix_script import script
    from rigright.report.pages import doctor as pages
    from rigright.verbs.doctor import doctor, write_script

    only = tuple(word for words in options.only for word in words.split(",") if word.strip())
    result = doctor(
        options.from_file, only=only, plan=options.plan, baseline=options.baseline, before=options.before
    )
    if options.fix_script is not None:
        write_script(options.fix_script, script(result, options.language))
    return Answer(
        page=lambda: pages.page(result, everything=options.all, why=options.why),
        plain=lambda language: (pages.plain_why if options.why else pages.plain)(result, language),
        sheet=lambda: pages.sheet(result),
        exit_code=result.exit_code,
        record=result,
    )
