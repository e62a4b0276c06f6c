"""The rows of `rigright.options` as arguments of a command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.options.row import Option
from rigright.options.rows import GROUPS, options_of

MODEL = say("a name, a config.json, a folder, a GGUF file, a hub id")


class Once(argparse.Action):
    """An option that is given once: a second one would take back the first without a word."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value."""
        del parser, option_string
        if getattr(namespace, self.dest) not in {None, values}:
            option = self.option_strings[0]
            raise AskError(
                say("{option} is given twice", option=option),
                hint=say("give it once"),
            )
        setattr(namespace, self.dest, values)


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """Every option of a verb, in its groups."""
    own = {option.name for option in options_of(verb)}
    for title, rows in GROUPS:
        taken = [option for option in rows if option.name in own and verb in option.verbs]
        if taken:
            group = parser.add_argument_group(str(title))
            for option in taken:
                _add(group, option)


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    flags = [option.flag, *(f"--{alias}" for alias in option.aliases)]
    dest, text = option.name.replace("-", "_"), str(option.help)
    if not option.metavar:
        group.add_argument(*flags, dest=dest, action="store_const", const="yes", help=text)
    elif option.bare is None:
        group.add_argument(*flags, dest=dest, action=Once, metavar=option.metavar, help=text)
    else:
        group.add_argument(
            *flags, dest=dest, action=Once, metavar=option.metavar, nargs="?", const=option.bare, help=text
        )


def said_in(options: argparse.Namespace, verb: str) -> dict[str, str]:
    """What was said, option by option."""
    found = {option.name: getattr(options, option.name.replace("-", "_")) for option in options_of(verb)}
    return {name: text for name, text in found.items() if text is not None}
