"""`setup`: the software that goes together on a machine, and the lines that install it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rigright.base.errors import AskError, clash
from rigright.base.words import say
from rigright.faces.cli.answer import Answer
from rigright.options.machine_rows import PRINTED

if TYPE_CHECKING:
    from rigright.verbs.setup.choice import SetUp

STAGE = "machine"
SUMMARY = say("matching driver, CUDA, framework and engine, with install commands")
_FILES = ("script", "docker", "requirements")


def answer(options: argparse.Namespace) -> Answer:
    """Choose, and tell or write it."""
    from rigright.report.pages import setup as pages
    from rigright.verbs.setup.choice import software_and_machine
    from rigright.verbs.setup.verb import SetupWish, setup, write_file

    framework, on = software_and_machine(options.words)
    for option, first, given in (("--framework", framework, options.framework), ("--on", on, options.on)):
        if first is not None and given is not None:
            raise clash(first, option)
    wish = SetupWish(
        on=on or options.on,
        from_file=options.from_file,
        system=options.system,
        wanted=options.wanted,
        framework=framework or options.framework,
    )
    result = setup(wish)
    # the one file that goes to the screen
    asked = [kind for kind in _FILES if getattr(options, kind) == PRINTED]
    if len(asked) > 1:
        raise AskError(say("only one file can be printed; give file names for the others"))
    shown = _text(asked[0], result, language=options.language) if asked else None
    for kind in _FILES:
        place = getattr(options, kind)
        if place not in {None, PRINTED}:
            write_file(place, _text(kind, result, language=options.language))
    typed = [
        ("--for", wish.wanted),
        ("--on", wish.on),
        ("--from", wish.from_file),
        ("--os", wish.system),
        ("--framework", wish.framework),
    ]
    return Answer.of(
        pages, result, asked=pages.asked_line(typed), text=None if shown is None else (lambda: shown)
    )


def _text(kind: str, result: SetUp, *, language: str) -> str:
    from rigright.report import setup_files

    makers = {
        "script": setup_files.script,
        "docker": setup_files.dockerfile,
        "requirements": setup_files.requirements,
    }
    return makers[kind](result, language)
