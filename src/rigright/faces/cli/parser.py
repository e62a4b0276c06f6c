"""argparse in two languages: help and complaints are told like every other sentence."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Any, NoReturn

from rigright.base.errors import AskError
from rigright.base.words import Sentence, say, sentences, tell
from rigright.faces.cli.options import ARGUMENTS, BEHIND, OPTIONS, Group, add, check
from rigright.faces.cli.terminal import columns
from rigright.options.readers import cells
from rigright.options.rows import trains_as
from rigright.report.screen import wrap

_ANY = say("[options]")
_COUNT = re.compile(r"(?:\A|\A--[a-z-]+=)\d+[x×]\Z")
_COMMAND = say("COMMAND ...")


class Parser(argparse.ArgumentParser):
    """A parser for the arguments of one verb, or of the program."""

    def __init__(self, prog: str, summary: Sentence, *, taken: Sequence[Group], language: str) -> None:
        self.width: int | None = None  # of help, where the user says so
        self.taken = taken
        self.takes_command = any(option.count == BEHIND for _, rows in taken for option in rows)
        super().__init__(
            prog=prog,
            description=tell(summary, language),
            formatter_class=lambda prog: Formatter(prog, language, width=self.width),
            add_help=False,
            allow_abbrev=False,
        )
        self.language = language
        self._positionals.title, self._optionals.title = (
            tell(ARGUMENTS, language),
            tell(OPTIONS, language),
        )
        add(self, taken)
        # usage names what must be given, and no more; the options are listed below it anyway
        must = [_needed(action) for action in self._actions if action.required or not action.option_strings]
        behind = ["--", tell(_COMMAND, self.language)] if self.takes_command else []
        self.usage = " ".join([self.prog, *must, tell(_ANY, self.language), *behind]).replace("%", "%%")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """A value of "--" is a word like another: argparse makes nothing of it."""
        alone = arg_strings == ["--"] and action.nargs is None and bool(action.option_strings)
        return self._get_value(action, "--") if alone else super()._get_values(action, arg_strings)

    def read(self, arguments: Sequence[str], *, typed: bool = False) -> argparse.Namespace:
        """Parse; what nobody knows is refused, with the nearest that is known.

        `typed`: by a person, who leaves out the quotes of a name: `explain kimi k2 --on 2x 3090`.
        """
        own, behind = split_command(arguments)
        arguments = own if self.takes_command else arguments
        self.width = _typed_width(own)
        scattered = any(action.nargs == "*" for action in self._actions)  # words before and behind options
        parse = self.parse_known_intermixed_args if scattered else self.parse_known_args
        if typed:
            arguments = counted(arguments)
            takes_machine = any(action.dest == "machine" for action in self._actions)
            arguments = _machine_joined(arguments) if takes_machine else arguments
        try:
            options, extras = parse(arguments)
        except AskError:
            apart = _filled(arguments, self.taken)
            if apart == [*arguments]:
                raise
            options, extras = parse(apart)
        if extras and typed and not any(word.startswith("--") for word in extras):
            from rigright.verbs.machine_words import machine_in

            joined = _unquoted(arguments, extras)
            machine = machine_in(extras) if "--on" in self._option_string_actions else []
            named = any(word.partition("=")[0] == "--on" for word in arguments)
            if machine and not named and not any(machine_in([word]) for word in joined):
                arguments = _machine_named(arguments, machine)
                options, extras = parse(arguments)
            if extras:
                options, extras = parse(_unquoted(arguments, extras))
        if extras:
            raise self._unknown_argument(extras)
        for action in self._actions:
            value = getattr(options, action.dest, None)
            if action.option_strings and (value == "" or (isinstance(value, list) and "" in value)):
                option = action.option_strings[0]
                raise AskError(
                    say("{option} has no value", option=option),
                    hint=say("add a value; see {help}", help="--help"),
                )
        check(self.taken, options)
        options.command = behind
        return options

    def _unknown_argument(self, extras: Sequence[str]) -> AskError:
        """The complaint about the first of the arguments without a place, with what is meant."""
        known = list(self._option_string_actions)
        argument = next((word for word in extras if word.startswith("-")), extras[0])
        if argument.startswith("-") and not (self.takes_command and not extras[0].startswith("-")):
            from rigright.options.read import unknown_option

            long = [word.removeprefix("--") for word in known if word.startswith("--")]
            return unknown_option(argument.partition("=")[0], long, dash="--")
        from rigright.faces.cli.complaints import example_of

        example = example_of(self.prog, extras)
        hint = say("quote names that contain spaces; see --help")
        if "--from" in known and os.path.exists(argument):  # noqa: PTH110 - loads nothing more
            hint = say("a file is read with --from FILE, several of one machine with --from FOLDER")
        elif "--on" in known:
            hint = say("name the machine with {option}", option=shlex.join(["--on", " ".join(extras)]))
        elif example is not None:
            hint = say("for example {example}", example=example)
        return AskError(say('unexpected argument "{argument}"', argument=argument), hint=hint)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version as written; argparse itself would be silent about a full disk."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """A complaint of argparse becomes an error like all others."""
        from rigright.faces.cli.complaints import understand

        raise understand(message, self.prog)


def _filled(arguments: Sequence[str], taken: Sequence[Group]) -> list[str]:
    """The arguments; `--train MODEL` is `--train=full MODEL`: what follows is none of its words."""
    bare = {
        flag: (option.bare, choices())
        for _, options in taken
        for option in options
        if option.bare and (choices := option.choices) is not None
        for flag in option.flags
    }
    return [
        f"{word}={bare[word][0]}"
        if word in bare and after not in bare[word][1] and trains_as(after) is None
        else word
        for word, after in zip_longest(arguments, arguments[1:], fillvalue="")
    ]


def counted(arguments: Sequence[str]) -> list[str]:
    """The arguments, a bare "2x" joined to what it counts."""
    joined = list[str]()
    for argument in arguments:
        if joined and _COUNT.search(joined[-1]) and not argument.startswith("-"):
            joined[-1] += f" {argument}"
        else:
            joined.append(argument)
    return joined


def _machine_joined(arguments: Sequence[str]) -> list[str]:
    """The arguments of a verb that takes nothing but a machine: all words behind `--on` name it."""
    joined, named = list[str](), False
    for argument in arguments:
        if named and not argument.startswith("-") and joined[-1] != "--on":
            joined[-1] += f" {argument}"
        else:
            named = argument == "--on" or (named and joined[-1] == "--on")
            joined.append(argument)
    return joined


def _machine_named(arguments: Sequence[str], machine: Sequence[str]) -> list[str]:
    """The arguments, `4090` or `on 4090` among them behind `--on`."""
    count = len(machine)
    starts = [at for at in range(len(arguments)) if list(arguments[at : at + count]) == list(machine)]
    before, after = list(arguments[: starts[-1]]), arguments[starts[-1] + count :]
    if before and before[-1].lower() in {"on", "@"}:
        before.pop()
    return [*before, *after, "--on", " ".join(machine)]


def _unquoted(arguments: Sequence[str], extras: Sequence[str]) -> list[str]:
    """The arguments, each word that has no place of its own joined to the word before it."""
    left, joined = list(extras), list[str]()
    for argument in arguments:
        if (
            left
            and argument == left[0]
            and joined
            and not _is_option(argument)
            and not _is_option(joined[-1])
        ):
            joined[-1] += f" {left.pop(0)}"
        else:
            joined.append(argument)
    return joined


def _is_option(word: str) -> bool:
    """Whether a word is an option that its value follows; `--on=2x` holds its own."""
    return word.startswith("-") and "=" not in word


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is ours to read, and the user's own command behind "--"."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return list(arguments[:end]), list(arguments[end + 1 :])


def _typed_width(arguments: Sequence[str]) -> int | None:
    """The width asked for, before anything is parsed: help is shown while parsing."""
    for argument, value in pairwise([*arguments, ""]):
        name, equals, inside = argument.partition("=")
        wish = inside if equals else value
        if name == "--width" and wish:
            return cells(wish)
    return None


def _needed(action: argparse.Action) -> str:
    """One argument as usage shows it."""
    name = str(action.metavar or action.dest).upper()
    if action.option_strings:
        return name if action.nargs == 0 else f"{action.option_strings[-1]} {name}"
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)


class Formatter(argparse.HelpFormatter):
    """Help that is stated in one language and knows that Chinese letters are two cells wide."""

    def __init__(self, prog: str, language: str, *, width: int | None = None) -> None:
        super().__init__(prog, max_help_position=30, width=width or columns(sys.stdout, unknown=80) - 2)
        self._language = language

    def start_section(self, heading: str | None) -> None:
        """The head of a group of options."""
        super().start_section(translate(heading or "", self._language))

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """The first line of help."""
        super().add_usage(usage, actions, groups, prefix or tell(say("usage: "), self._language))

    def _get_help_string(self, action: argparse.Action) -> str:
        """Each help text is an English sentence with a translation."""
        return translate(action.help or "", self._language).replace("%", "%%")

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in wrap(text, width))


def translate(text: str, language: str) -> str:
    """A sentence without values, known by its English text."""
    return sentences(language).get(text, text)
