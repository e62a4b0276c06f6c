"""Every argument of a command, from the rows of `rigright.options`: what its parser and help read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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

    def __init__(self, *, joins: Callable[[str, str], str | None] | None = None, **fields: Any) -> None:
        """Keep how two of its values are one, where they may be."""
        super().__init__(**fields)
        self._joins = joins

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value."""
        del parser, option_string
        before = getattr(namespace, self.dest)
        both = None
        if self._joins is not None and isinstance(before, str) and isinstance(values, str):
            both = self._joins(before, values)
        if both is None and before not in {None, values}:
            option = self.option_strings[0]
            raise AskError(
                say("{option} is given twice", option=option),
                hint=say("give it once"),
            )
        setattr(namespace, self.dest, both or values)


def groups(verb: str | None) -> tuple[Group, ...]:
    """What a command takes, in the order of its help; None: the program itself."""
    if verb is None:
        return (OPTIONS, (HELP, VERSION)), (
            OUTPUT,
            (SCHEMA, *(option for option in SHOWING if option is not DETAILS)),
        )
    stage = shelf.take(front.ASKS, verb.replace("-", "_"), bears="STAGE")
    value = shelf.take("rigright.options", HOMES[stage], bears="ROWS")[verb]()
    headed: dict[Sentence, list[Option]] = {ARGUMENTS: [], OPTIONS: [HELP]}
    for item in value:
        title = item.group or (ARGUMENTS if item.placed else OPTIONS)
        headed.setdefault(title, []).append(item)
    planning: tuple[Group, ...] = ()
    if verb in shelf.take("rigright.options", HOMES[stage], bears="PLANNED"):
        from rigright.options.rows import groups_of

        planning = groups_of(verb)
    left_out = {WHY} if stage == MACHINE else set()
    left_out |= set() if verb in DETAILED else {DETAILS}
    shown = tuple(option for option in SHOWING if option not in left_out)
    shown = shown if verb == PAGE else (SCHEMA, *shown)
    return (*((title, tuple(rows)) for title, rows in headed.items()), *planning, (OUTPUT, shown))


def rows(verb: str | None) -> Iterator[Option]:
    """The same without headings."""
    for _, taken in groups(verb):
        yield from taken


def add(parser: argparse.ArgumentParser, taken: Sequence[Group]) -> None:
    """Rows as arguments of a parser."""
    for title, options in taken:
        group = {ARGUMENTS: parser._positionals, OPTIONS: parser._optionals}.get(title)  # noqa: SLF001 - its own
        group = group or parser.add_argument_group(str(title))
        forms = [item for item in options if _excludes(item)]
        alone = group.add_mutually_exclusive_group() if forms else group
        for option in options:
            if option.count != BEHIND:
                names, fields = _typed(option)
                (alone if option in forms else group).add_argument(*names, **fields)


def _excludes(option: Option) -> bool:
    """Whether it is a flag that fills the same place as those it bars."""
    return bool(option.bars and option.bare and option.is_flag)


def _typed(option: Option) -> tuple[tuple[str, ...], dict[str, Any]]:
    """A row as argparse takes it: how it is typed, and what becomes of it."""
    fields: dict[str, Any] = {"help": meaning(option)}
    if option.choices and not option.verbs and option.metavar == "|".join(option.choices()):
        fields["choices"] = words(option)
    elif option.metavar:
        fields["metavar"] = option.metavar
    if not option.verbs and (option.read is not str or option.choices):
        fields["type"] = option.value
    if option.placed:
        return (option.dest,), fields | ({"nargs": option.count} if option.count else {})
    if option.name in _OWN:
        return option.flags, fields | _OWN[option.name]
    fields["dest"] = option.dest
    if option.is_flag:
        return option.flags, fields | _flag(option)
    if option.repeated:
        fields |= {"action": "append", "default": []}
    else:
        fields |= {"action": partial(Once, joins=option.joins)} if option.verbs else {}
        fields |= {"default": option.default, "required": option.required}
    if option.bare is not None:
        fields |= {"nargs": "?", "const": option.bare}
    return option.flags, fields | ({"nargs": option.count} if option.count else {})


def _flag(option: Option) -> dict[str, Any]:
    """What becomes of a flag: of those that fill one field, the field says which; else yes or no."""
    if option.verbs:
        return {"action": "store_const", "const": "yes"}
    if option.bare:
        return {"action": "store_const", "const": option.bare, "default": option.default}
    return {"action": "store_true"}


def meaning(option: Option) -> str:
    """What it is for, in English: the parser translates it."""
    return str(option.help) if option.help is not None else ", ".join(words(option))


def words(option: Option) -> tuple[str, ...]:
    """The words that may stand there, or stand there mostly."""
    if option.choices is not None:
        return option.choices()
    if not option.offered:
        return ()
    room, name = _LISTS[option.offered]
    value = getattr(import_module(room), name)
    return tuple(value() if callable(value) else value)


_LISTS = {  # words that a shell completes -> the module that knows them, and the function or mapping
    "targets": ("rigright.verbs.export", "known"),
    "kinds": ("rigright.verbs.look_up.verb", "kind_names"),
    "price lists": ("rigright.options.know_rows", "PRICE_LISTS"),
    "shells": ("rigright.verbs.completion", "SHELLS"),
    "models": ("rigright.arch.sources.zoo", "names"),
    "chips": ("rigright.facts.chips", "by_id"),
    "engines": ("rigright.facts.engines", "engines"),
    "formats": ("rigright.facts.formats", "formats"),
    "kv formats": ("rigright.facts.formats", "kv_formats"),
}


def check(taken: Sequence[Group], options: argparse.Namespace) -> None:
    """Refuse what does not go together; options of a wish are checked with all of it."""
    if getattr(options, "free", None) is not None:
        _name_free(options)
    own = {
        option.name: option
        for _, result in taken
        for option in result
        if not option.verbs and not _excludes(option) and hasattr(options, option.dest)
    }
    fields = {name: getattr(options, option.dest) for name, option in own.items()}
    fields = {name: value for name, value in fields.items() if value not in (None, False, [])}
    for name in fields:
        for wrong in own[name].beside(fields):
            raise wrong


def _name_free(options: argparse.Namespace) -> None:
    """Free memory is a word of the machine: `--on 4090 --free 12gb` is `--on "4090, 12gb free"`."""
    from rigright.base.units import parse_bytes, unreadable

    if parse_bytes(options.free) and options.free.strip()[-1].isdigit():  # bytes alone are never meant
        raise unreadable(options.free, say("a size"), example="12GB, 12GiB")
    named = [name for name in ("on", "machine", "own") if getattr(options, name, None) is not None]
    if not named:
        raise AskError(
            say("{option} needs a machine", option="--free"),
            hint=say("for example {example}", example=f"--on 4090 --free {options.free}"),
        )
    setattr(options, named[0], f"{getattr(options, named[0])}, {options.free} free")
    options.free = None


def typed_options(options: argparse.Namespace, verb: str) -> dict[str, str]:
    """What was said of a wish, option by option."""
    from rigright.options.rows import options_of

    fields = {option.name: getattr(options, option.dest) for option in options_of(verb)}
    return {name: text for name, text in fields.items() if text is not None}
