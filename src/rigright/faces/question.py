"""A question that a program asks: the words of the command line as arguments, read by the same parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rigright.base.errors import AskError
from rigright.base.words import LANGUAGES, pick_language, say
from rigright.faces.cli.main import verb_parser
from rigright.faces.cli.options import BEHIND, rows
from rigright.faces.cli.parser import Parser
from rigright.options.read import unknown_option
from rigright.options.row import Option

_SHOWN = {"help", "schema", "form", "color", "width"}  # how a terminal is to show it


def parser_of(verb: str, language: str = "en") -> Parser:
    """The parser of a verb."""
    return verb_parser(verb.replace("_", "-"), language)


def arguments_of(verb: str) -> dict[str, Option]:
    """What a verb takes, as a program names it: `for`, `max_chips`; first what has no flag."""
    taken = (
        option
        for option in rows(verb.replace("_", "-"))
        if option.dest not in _SHOWN and option.count != BEHIND
    )
    every = sorted(taken, key=lambda option: not option.placed)
    return {name.replace("-", "_"): option for option in every for name in (option.name, *option.aliases)}


def read(verb: str, placed: Sequence[object] = (), *, named: Mapping[str, object]) -> argparse.Namespace:
    """What was asked, as the verb's own `answer` takes it; what the command line refuses is refused."""
    fields = {name.removesuffix("_"): value for name, value in named.items()}
    wish = fields.get("lang")
    parser = parser_of(verb, pick_language(str(wish) if wish in LANGUAGES else None))
    known = arguments_of(verb)
    behind = fields.pop("command", None) if parser.takes_command else None
    words, options = list(_words(placed)), []
    for name, value in fields.items():
        if name not in known:
            raise unknown_option(name, tuple(known))
        if known[name].placed:
            words += _words((value,))
        else:
            # the option that says the opposite of one: `attention_dp=False` is `--no-attention-dp`
            options += _flags(known.get(f"no_{name}") if value is False else known[name], value)
    for word in words:
        if word.startswith("-") and word != "-":
            raise AskError(
                say('unexpected argument "{argument}"', argument=word),
                hint=say("pass options as keyword arguments; names cannot start with a dash"),
            )
    rest = [] if behind is None else ["--", *_words((behind,))]
    namespace = parser.read([*words, *options, *rest])
    namespace.form, namespace.language = "json", parser.language
    return namespace


def _words(values: Sequence[object]) -> Iterator[str]:
    """Values as they would be typed; what is None is not said."""
    for value in values:
        if isinstance(value, list | tuple | set | frozenset):
            yield from _words([*value])
        elif value is not None:
            yield f"{value:.12g}" if isinstance(value, float) else str(value)


def _flags(option: Option | None, value: Any) -> list[str]:
    if value is None or option is None:
        return []
    if isinstance(value, bool):
        return [option.flag]
    words = [*_words((value,))]
    if option.repeated:
        return [f"{option.flag}={word}" for word in words]
    return [f"{option.flag}={', '.join(words)}"]
