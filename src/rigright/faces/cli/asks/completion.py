"""`completion`: commands and options completed by the shell."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("shell completion: bash, zsh, fish, powershell")


def answer(options: argparse.Namespace) -> Answer:
    """Print the script."""
    from rigright.faces.cli.front import verbs
    from rigright.faces.cli.options import BEHIND, rows, words
    from rigright.report.pages.export import files_page
    from rigright.verbs.completion import Completion, completion, tells

    grammar: dict[str, dict[str, tuple[str, ...] | None]] = {}
    for verb in verbs():
        taken = [option for option in rows(verb) if option.count != BEHIND]
        grammar[verb] = {
            flag: None if option.is_flag else words(option)
            for option in taken
            if not option.placed
            for flag in option.flags
        }
        first = next((words(option) for option in taken if option.placed), ())
        grammar[verb] |= {verb: first} if first else {}
    name, script = f"rigright.{options.shell}", completion(options.shell, grammar=grammar)
    return Answer(
        page=lambda: files_page({name: script}),
        plain=lambda language: tells(Completion(shell=options.shell, script=script), language),
        text=lambda: script,
    )
