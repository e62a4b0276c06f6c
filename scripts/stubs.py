"""What type checkers and editors know of the verbs and their answers: `rigright/__init__.pyi`."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base import shelf
from rigright.faces.cli.schemas import VERBS, printer_of
from rigright.faces.python import TEXTS, signature

ERRORS = ("AskError", "DataError", "MissingError", "RigError")
HEAD = f"""\
# made by scripts/docs from the parsers and the records; do not edit
from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

{{imports}}

{TEXTS}: TypeAlias = str | float | PathLike[str] | Sequence[str | float | PathLike[str]]

__version__: str

"""


def stub() -> str:
    """The text of the stub."""
    asks = [verb for verb in shelf.names("rigright.faces.cli.asks") if verb != "watch"]
    shown = [f"from rigright.base.errors import {name} as {name}" for name in ERRORS]
    shown += ["from rigright.verbs.watch.verb import watch as watch"]  # which does not answer, but goes on
    held_in: dict[str, set[str]] = {"rigright.faces.python": {"Reply"}}
    lines: list[str] = []
    for verb in asks:
        kinds = records(verb)
        for kind in kinds:
            held_in.setdefault(kind.__module__, set()).add(kind.__name__)
        name = f"{verb.title().replace('_', '')}Reply"
        held = " | ".join(kind.__name__ for kind in kinds) or "Any"
        if len(kinds) == 1:  # each attribute of the record is one of the answer
            lines.append(f"class {name}(Reply[{held}], {held}): ...")
        else:
            lines += [f"class {name}(Reply[{held}]):", "    def __getattr__(self, name: str) -> Any: ..."]
        lines += ["", f"def {verb}(", *arguments(verb), f") -> {name}: ...", ""]
    shown += [
        f"from {place} import {', '.join(sorted(names, key=str.lower))}" for place, names in held_in.items()
    ]
    return HEAD.format(imports="\n".join(sorted(shown))) + "\n".join(lines)


def records(verb: str) -> list[type]:
    """The records that a verb may answer with."""
    told = [printer_of(place).kind for place in VERBS.get(verb, ())]
    return [kind for kind in dict.fromkeys(told) if isinstance(kind, type) and kind.__module__ != "builtins"]


def arguments(verb: str) -> Iterator[str]:
    """Each argument in a line."""
    starred = False
    for one in signature(verb).parameters.values():
        starred = starred or one.kind is one.VAR_POSITIONAL
        if one.kind is one.KEYWORD_ONLY and not starred:
            yield "    *,"
            starred = True
        yield f"    {one},".replace("'", "")
