"""Tables of corrections as text: in an order that does not change, comments kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.bounded import bounded_toml
from rigright.verbs.calibrate.toml import key_text, terms

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_SECTION = re.compile(r"\s*\[(.+)\]\s*(#.*)?\Z")

BEFORE = "#"  # after a section's path: the comment that stands before it

Comments = Mapping[tuple[str, ...], str]  # of a term: what stands behind it


def dump(tables: Mapping[str, Any], *, head: str, comments: Comments) -> str:
    """A whole table as text."""
    body = "\n".join(_lines(tables, (), comments=comments))
    return f"{head.rstrip()}\n\n{body.strip()}\n"


def head_of(text: str) -> str:
    """The comment a table begins with."""
    lines = text.splitlines()
    count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "\n".join(lines[:count])


def comments_of(text: str) -> dict[tuple[str, ...], str]:
    """What stands behind the terms of a table and before its sections, by their paths."""
    names: dict[tuple[str, ...], str] = {}
    section: tuple[str, ...] = ()
    before: list[str] = []
    for line in text[len(head_of(text)) :].splitlines():
        if line.startswith("#"):
            before.append(line)
        elif opened := _SECTION.match(line):
            section = _path(opened[1])
            names |= {(*section, BEFORE): "\n".join(before)} if before else {}
            before = []
        elif "=" in line and "#" in line and not line.lstrip().startswith("#"):
            key, _, rest = line.partition("=")
            # the comment behind a value, which may itself hold the sign inside quotes
            bare = _QUOTED.sub('""', rest)
            comment = bare.partition("#")[2].strip()
            if comment:
                names[(*section, *_path(key))] = comment
    return names


def _lines(tables: Mapping[str, Any], path: tuple[str, ...], *, comments: Comments) -> Iterator[str]:
    own = {key: value for key, value in tables.items() if not isinstance(value, Mapping)}
    if own and path:
        before = comments.get((*path, BEFORE), "")
        yield "\n" + f"{before}\n".lstrip() + f"[{'.'.join(map(key_text, path))}]"
    for key, value in own.items():
        comment = comments.get((*path, key), "")
        yield terms({key: value}).rstrip() + (f"  # {comment}" if comment else "")
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key), comments=comments)


def _path(text: str) -> tuple[str, ...]:
    try:
        parsed: Any = bounded_toml(f"{text.strip()} = 0")
    except ValueError:  # of a file that was edited by hand
        return ()
    path: list[str] = []
    while isinstance(parsed, Mapping):
        ((name, parsed),) = parsed.items()
        path.append(name)
    return tuple(path)
