"""`completion`: commands and options completed by the shell."""

from __future__ import annotations

import argparse

from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("shell completion: bash, zsh, fish, powershell")


def add(parser: argparse.ArgumentParser) -> None:
    """The options of `completion`."""
    parser.add_argument(
        "shell",
        metavar="SHELL",
        help=str(
            say(
                "bash, zsh, fish or powershell; in bash: source <(rigright completion bash); "
                "in PowerShell: rigright completion powershell | Out-String | Invoke-Expression"
            )
        ),
    )


def answer(options: argparse.Namespace) -> Answer:
    """Print the script."""
    from rigright.faces.cli.front import verbs
    from rigright.faces.cli.main import verb_parser
    from rigright.options.rows import options_of
    from rigright.report.pages.files import page
    from rigright.verbs.completion import SHELLS, Completion, completion, tells
    from rigright.verbs.export import known
    from rigright.verbs.look_up.frame import kind_names

    grammar: dict[str, dict[str, tuple[str, ...] | None]] = {}
    for verb in verbs():
        choices = {option.flag: option.choices() for option in options_of(verb) if option.choices}
        grammar[verb] = {
            flag: None if action.nargs == 0 else choices.get(flag) or tuple(map(str, action.choices or ()))
            for action in verb_parser(verb, "en")._actions  # noqa: SLF001 - argparse gives no other list
            for flag in action.option_strings
        }
    for verb, words in (("export", known()), ("look-up", kind_names()), ("completion", tuple(SHELLS))):
        grammar[verb][verb] = words
    name, script = f"rigright.{options.shell}", completion(options.shell, grammar=grammar)
    return Answer(
        page=lambda: page({name: script}),
        plain=lambda language: tells(Completion(shell=options.shell, script=script), language),
        text=lambda: script,
    )
