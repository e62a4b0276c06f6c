"""argparse in two languages: help and complaints are told like every other sentence."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NoReturn

from rigright.base.errors import AskError
from rigright.base.words import LANGUAGES, Sentence, say, sentences, tell
from rigright.faces.cli.terminal import columns
from rigright.report.cells import wrap

_POSITIONALS = say("arguments")
_OPTIONS = say("options")
_OUTPUT = say("output")
_HELP = say("show this help")
_ANY = say("[options]")
_COMMAND = say("COMMAND ...")


class Parser(argparse.ArgumentParser):
    """A parser for one verb, with the options that every verb knows."""

    def __init__(self, prog: str, summary: Sentence, *, language: str) -> None:
        self.width: int | None = None  # of help, where the user says so
        self.takes_command = False  # what stands behind "--" is the user's own command, not for us to read
        super().__init__(
            prog=prog,
            description=tell(summary, language),
            formatter_class=lambda prog: Formatter(prog, language, width=self.width),
            add_help=False,
            allow_abbrev=False,
        )
        self.language = language
        self._positionals.title, self._optionals.title = (
            tell(_POSITIONALS, language),
            tell(_OPTIONS, language),
        )
        self.add_argument("-h", "--help", action="help", help=str(_HELP))

    def brief(self) -> None:
        """Let usage name what must be given, and no more; the options are listed below it anyway."""
        must = [_needed(action) for action in self._actions if action.required or not action.option_strings]
        behind = ["--", tell(_COMMAND, self.language)] if self.takes_command else []
        self.usage = " ".join([self.prog, *must, tell(_ANY, self.language), *behind]).replace("%", "%%")

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse; what nobody knows is refused, with the nearest that is known."""
        own, behind = split_command(arguments)
        arguments = own if self.takes_command else arguments
        self.width = _said_width(own)
        scattered = any(action.nargs == "*" for action in self._actions)  # words before and behind options
        parse = self.parse_known_intermixed_args if scattered else self.parse_known_args
        options, extras = parse(arguments)
        if extras:
            raise unknown_argument(extras[0], list(self._option_string_actions))
        for action in self._actions:
            said = getattr(options, action.dest, None)
            if action.option_strings and (said == "" or (isinstance(said, list) and "" in said)):
                option = action.option_strings[0]
                raise AskError(
                    say("{option} has no value", option=option),
                    hint=say("add a value; see {help}", help="--help"),
                )
        options.command = behind
        return options

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version as written; argparse itself would be silent about a full disk."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """A complaint of argparse becomes an error like all others."""
        from rigright.faces.cli.complaints import understand

        raise understand(message)


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is ours to read, and the user's own command behind "--"."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return list(arguments[:end]), list(arguments[end + 1 :])


def _said_width(arguments: Sequence[str]) -> int | None:
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
    """Help that is told in one language and knows that Chinese letters are two cells wide."""

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


def add_output(
    parser: argparse.ArgumentParser, language: str, *, why: bool = True, details: bool = False
) -> None:
    """The options of every verb; `why` where figures are computed, `details` where the answer is long."""
    group = parser.add_argument_group(tell(_OUTPUT, language))
    form = group.add_mutually_exclusive_group()
    for name, text in (
        ("json", say("print JSON for scripts")),
        ("markdown", say("print Markdown")),
        ("html", say("print one self-contained HTML page")),
        ("csv", say("print the first table as CSV")),
    ):
        form.add_argument(
            f"--{name}", dest="form", action="store_const", const=name, default="text", help=str(text)
        )
    if why:
        told = str(say("show formulas, facts and their sources"))
        group.add_argument("--why", action="store_true", help=told)
    if details:
        told = str(say("show everything: all options, every part, all assumptions"))
        group.add_argument("--details", action="store_true", help=told)
    group.add_argument("--lang", choices=LANGUAGES, help=str(say("language; default: from the locale")))
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help=str(say("colours; auto: only on a terminal, and not if NO_COLOR is set")),
    )
    group.add_argument(
        "--width",
        type=cells,
        metavar="CELLS",
        help=str(say("output width in columns; default: the terminal's")),
    )


def cells(text: str) -> int:
    """A width of a screen in cells."""
    from rigright.report.screen import LEAST_CELLS

    if not text.isdecimal() or not LEAST_CELLS <= int(text[:9]) <= 10_000:
        raise AskError(
            say('cannot read "{text}" as a width', text=text),
            hint=say("use a whole number from {least} to 10000", least=LEAST_CELLS),
        )
    return int(text)


def unknown_argument(argument: str, known: Sequence[str]) -> AskError:
    """The complaint about an argument, with the nearest known option."""
    from difflib import get_close_matches

    if not argument.startswith("-"):
        return AskError(
            say('unexpected argument "{argument}"', argument=argument),
            hint=say("quote names that contain spaces; see --help"),
        )
    name = argument.partition("=")[0]
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    return AskError(
        say('unknown option "{name}"', name=name),
        hint=say("did you mean {near}?", near=near[0]) if near else say("see --help for all options"),
    )
