"""`setup`: the software that goes together on a machine, and the lines that install it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rigright.base.errors import AskError
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
    from rigright.verbs.setup.verb import SetupWish, setup, write_file

    words = " ".join(options.words)
    named = _is_software(words)
    for option, given in (("--framework", options.framework), ("--on", options.on)):
        if words and given is not None and named == (option == "--framework"):
            raise AskError(
                say("{first} and {second} cannot be combined", first=words, second=option),
                hint=say("remove {option}", option=option),
            )
    wish = SetupWish(
        on=options.on if named or not words else words,
        from_file=options.from_file,
        system=options.system,
        wanted=options.wanted,
        framework=words if named else options.framework,
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
    return Answer(
        page=lambda: pages.page(result, pages.asked_line(typed)),
        plain=lambda language: pages.plain(result, language),
        text=None if shown is None else (lambda: shown),
        record=result,
    )


def _is_software(words: str) -> bool:
    """Whether they name a framework or an engine, and no machine."""
    from rigright.verbs.setup.choice import find_name

    try:
        return bool(words) and bool(find_name(words))
    except AskError:
        return False


def _text(kind: str, result: SetUp, *, language: str) -> str:
    from rigright.report import setup_files

    makers = {
        "script": setup_files.script,
        "docker": setup_files.dockerfile,
        "requirements": setup_files.requirements,
    }
    return makers[kind](result, language)
