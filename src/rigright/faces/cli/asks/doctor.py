"""`doctor`: what is wrong, slow or risky on this machine, and how to mend it."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.faces.cli.machine_options import add_baseline, add_from

STAGE = "machine"
SUMMARY = say("find what is wrong, slow or risky on a machine: evidence, fix, verification")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `doctor`."""
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CHECK,...",
        help=str(say("only these checks or groups: ecc, links, nvlink_down; `look-up checks` lists them")),
    )
    add_from(parser)
    parser.add_argument(
        "--for",
        dest="plan",
        metavar="PLAN.json",
        help=str(say('check for this plan: `plan --json` output, or GPUs such as "8x h100"')),
    )
    add_baseline(parser)
    parser.add_argument(
        "--before",
        metavar="FILE",
        help=str(say("an earlier reading of the same machine, to judge errors by their growth")),
    )
    parser.add_argument(
        "--all", action="store_true", help=str(say("show every finding in full, and passed checks"))
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help=str(say("show what each check looks at, its thresholds and sources")),
    )
    parser.add_argument(
        "--fix-script",
        metavar="FILE",
        help=str(say("write the fixes as a script, with every command commented out")),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Examine it."""
    from rigright.report.fix_script import script
    from rigright.report.pages import doctor as pages
    from rigright.verbs.doctor.frame import doctor, write_script

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
