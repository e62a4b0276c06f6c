"""Every argument of a command, from the rows of `rigright.options`: what its parser and help read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from rigright import __version__
from rigright.base import shelf
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.faces.cli import front
from rigright.options.row import DETAILS, HELP, SCHEMA, SHOWING, VERSION, WHY, Option

Group = tuple[Sentence, tuple[Option, ...]]  # a heading of help, and what stands below it

HOMES = {"plan": "rows", "machine": "machine_rows", "know": "know_rows"}  # stage -> the file of its rows
MACHINE = "machine"  # the stage whose figures are read or measured; a verb of it that can say why adds that
DETAILED = frozenset(
    ["plan", "explain", "fit", "compare", "simulate", "build", "sweep", "cost", "read"]
)  # whose short answer has a long one behind it
PAGE = "web"  # which answers on its page alone
BEHIND = "--"  # the count of what is the user's own command
ARGUMENTS, OPTIONS, OUTPUT = say("arguments"), say("options"), say("output")


class Schema(argparse.Action):
    """Prints the schema of a command's answer, whatever else was said, as help is."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Print and end."""
        del namespace, values, option_string
        import json

        from rigright.faces.cli.schemas import schema

        verb = parser.prog.split()[-1]
        sys.stdout.write(json.dumps(schema(verb), indent=1, ensure_ascii=False) + "\n")
        parser.exit()


_OWN: dict[str, dict[str, Any]] = {  # what argparse does at once
    HELP.name: {"action": "help"},
    SCHEMA.name: {"action": Schema, "nargs": 0},
    VERSION.name: {"action": "version", "version": f"rigright {__version__}"},
}


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


def groups(verb: str | None) -> tuple[Group, ...]:
    """What a command takes, in the order of its help; None: the program itself."""
    if verb is None:
        return (OPTIONS, (HELP, VERSION)), (OUTPUT, (SCHEMA, *(one for one in SHOWING if one is not DETAILS)))
    stage = shelf.take(front.ASKS, verb.replace("-", "_"), bears="STAGE")
    told = shelf.take("rigright.options", HOMES[stage], bears="ROWS")[verb]()
    headed: dict[Sentence, list[Option]] = {ARGUMENTS: [], OPTIONS: [HELP]}
    for one in told:
        title = one.group or (ARGUMENTS if one.placed else OPTIONS)
        headed.setdefault(title, []).append(one)
    planning: tuple[Group, ...] = ()
    if verb in shelf.take("rigright.options", HOMES[stage], bears="PLANNED"):
        from rigright.options.rows import groups_of

        planning = groups_of(verb)
    left_out = {WHY} if stage == MACHINE else set()
    left_out |= set() if verb in DETAILED else {DETAILS}
    shown = tuple(one for one in SHOWING if one not in left_out)
    shown = shown if verb == PAGE else (SCHEMA, *shown)
    return (*((title, tuple(rows)) for title, rows in headed.items()), *planning, (OUTPUT, shown))


def rows(verb: str | None) -> Iterator[Option]:
    """The same without headings."""
    for _, taken in groups(verb):
        yield from taken


def add(parser: argparse.ArgumentParser, taken: Sequence[Group]) -> None:
    """Rows as arguments of a parser."""
    for title, found in taken:
        group = {ARGUMENTS: parser._positionals, OPTIONS: parser._optionals}.get(title)  # noqa: SLF001 - its own
        group = group or parser.add_argument_group(str(title))
        forms = [one for one in found if _excludes(one)]
        alone = group.add_mutually_exclusive_group() if forms else group
        for one in found:
            if one.count != BEHIND:
                names, told = _typed(one)
                (alone if one in forms else group).add_argument(*names, **told)


def _excludes(one: Option) -> bool:
    """Whether it is a flag that fills the same place as those it bars."""
    return bool(one.bars and one.bare and one.is_flag)


def _typed(one: Option) -> tuple[tuple[str, ...], dict[str, Any]]:
    """A row as argparse takes it: how it is typed, and what becomes of it."""
    told: dict[str, Any] = {"help": meaning(one)}
    if one.choices and not one.verbs and one.metavar == "|".join(one.choices()):
        told["choices"] = words(one)
    elif one.metavar:
        told["metavar"] = one.metavar
    if not one.verbs and (one.read is not str or one.choices):
        told["type"] = one.value
    if one.placed:
        return (one.dest,), told | ({"nargs": one.count} if one.count else {})
    if one.name in _OWN:
        return one.flags, told | _OWN[one.name]
    told["dest"] = one.dest
    if one.is_flag:
        return one.flags, told | _flag(one)
    if one.repeated:
        told |= {"action": "append", "default": []}
    else:
        told |= {"action": Once} if one.verbs else {}
        told |= {"default": one.default, "required": one.required}
    if one.bare is not None:
        told |= {"nargs": "?", "const": one.bare}
    return one.flags, told | ({"nargs": one.count} if one.count else {})


def _flag(one: Option) -> dict[str, Any]:
    """What becomes of a flag: of those that fill one field, the field says which; else yes or no."""
    if one.verbs:
        return {"action": "store_const", "const": "yes"}
    if one.bare:
        return {"action": "store_const", "const": one.bare, "default": one.default}
    return {"action": "store_true"}


def meaning(one: Option) -> str:
    """What it is for, in English: the parser translates it."""
    return str(one.help) if one.help is not None else ", ".join(words(one))


def words(one: Option) -> tuple[str, ...]:
    """The words that may stand there, or stand there mostly."""
    if one.choices is not None:
        return one.choices()
    if not one.offered:
        return ()
    room, name = _LISTS[one.offered]
    found = getattr(import_module(room), name)
    return tuple(found() if callable(found) else found)


_LISTS = {  # words that a shell completes -> the module that knows them, and the function or mapping
    "targets": ("rigright.verbs.export", "known"),
    "kinds": ("rigright.verbs.look_up.frame", "kind_names"),
    "shells": ("rigright.verbs.completion", "SHELLS"),
    "models": ("rigright.arch.sources.zoo", "names"),
    "chips": ("rigright.facts.chips", "by_id"),
    "engines": ("rigright.facts.engines", "engines"),
    "formats": ("rigright.facts.formats", "formats"),
    "kv formats": ("rigright.facts.formats", "kv_formats"),
}


def check(taken: Sequence[Group], options: argparse.Namespace) -> None:
    """Refuse what does not go together; options of a wish are checked with all of it."""
    own = {
        one.name: one
        for _, found in taken
        for one in found
        if not one.verbs and not _excludes(one) and hasattr(options, one.dest)
    }
    said = {name: getattr(options, one.dest) for name, one in own.items()}
    said = {name: value for name, value in said.items() if value not in (None, False, [])}
    for name in said:
        for wrong in own[name].beside(said):
            raise wrong


def said_in(options: argparse.Namespace, verb: str) -> dict[str, str]:
    """What was said of a wish, option by option."""
    from rigright.options.rows import options_of

    found = {option.name: getattr(options, option.dest) for option in options_of(verb)}
    return {name: text for name, text in found.items() if text is not None}
