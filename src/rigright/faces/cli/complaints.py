"""What argparse complains about, understood and said as our own errors, each with a hint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from rigright.base.errors import AskError, clash
from rigright.base.loader import rows
from rigright.base.words import say

_HELP = say("see --help")


def _no_value(name: str, **_: str) -> AskError:
    hint = say("add a value; see {help}", help="--help")
    return AskError(say("{option} has no value", option=name), hint=hint)


def _flag(name: str, value: str) -> AskError:
    return AskError(say("{option} takes no value, got {value}", option=name, value=value), hint=_HELP)


def _missing(names: str, example: str | None = None) -> AskError:
    hint = _HELP if example is None else say("for example {example}", example=example)
    return AskError(say("missing: {names}", names=names), hint=hint)


_KNOWN: tuple[tuple[str, Callable[..., AskError]], ...] = (
    ("argument {name}: expected one argument", _no_value),
    ("argument {name}: expected at least one argument", _no_value),
    ("argument {name}: expected at most one argument", _no_value),
    ("argument {first}: not allowed with argument {second}", clash),
    ("argument {name}: ignored explicit argument {value}", _flag),
    ("the following arguments are required: {names}", _missing),
    ("one of the arguments {names} is required", _missing),
)


def example_of(prog: str, stray: Sequence[str] = ()) -> str | None:
    """A line of a command that runs; with words that have no place in it, the line that they likely mean."""
    known = {name: pair for name, *pair in rows("examples.csv", "verb", "example", "stray")}
    example, meant = known.get(prog.rpartition(" ")[2], ("", ""))
    if stray and meant:
        return meant.format(words=shlex.quote(" ".join(stray)), command=shlex.join(stray))
    return example or None


def understand(message: str, prog: str = "") -> AskError:
    """A complaint of argparse as our error; one of a later Python that is new to us stays as it is."""
    for known, error in _KNOWN:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(known))
        match = re.fullmatch(pattern, message, re.DOTALL)
        if match:
            more = {"example": example_of(prog)} if error is _missing else {}
            return error(**match.groupdict(), **more)
    return AskError(say("{complaint}", complaint=message), hint=_HELP)
