"""Writes tables of corrections: one term a line, in an order that does not change, comments kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_toml
from rigright.base.errors import DataError
from rigright.base.files import write_whole
from rigright.base.words import say

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_SECTION = re.compile(r"\s*\[(.+)\]\s*(#.*)?\Z")

BEFORE = "#"  # after a section's path: the comment that stands before it

Comments = Mapping[tuple[str, ...], str]  # of a term: what stands behind it


def dump(tables: Mapping[str, Any], *, head: str, comments: Comments) -> str:
    """A whole table as text."""
    body = "\n".join(_lines(tables, (), comments=comments))
    return f"{head.rstrip()}\n\n{body.strip()}\n"


def terms(values: Mapping[str, Any]) -> str:
    """Plain values, one a line."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in values.items())


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


def write(path: Path, text: str) -> None:
    """Write at once or not at all; what cannot be read back is not written."""
    try:
        bounded_toml(text)
    except ValueError as error:
        raise DataError(say("{file} is not a TOML table: {why}", file=path.name, why=error)) from None
    write_whole(path, text)


def _lines(tables: Mapping[str, Any], path: tuple[str, ...], *, comments: Comments) -> Iterator[str]:
    own = {key: value for key, value in tables.items() if not isinstance(value, Mapping)}
    if own and path:
        before = comments.get((*path, BEFORE), "")
        yield "\n" + f"{before}\n".lstrip() + f"[{'.'.join(map(_key, path))}]"
    for key, value in own.items():
        comment = comments.get((*path, key), "")
        yield f"{_key(key)} = {_value(value)}" + (f"  # {comment}" if comment else "")
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key), comments=comments)


def _key(name: str) -> str:
    return name if _BARE.match(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


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
