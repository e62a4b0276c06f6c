"""Commands as shells, units and schedulers read them, with names from users that cannot break out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

Words = tuple[tuple[str, ...], ...]  # a command in groups: a flag and its value stand on one line


def comments(lines: Iterable[str], mark: str = "#") -> str:
    """Lines of comment."""
    return "".join(f"{mark} {' '.join(line.split())}\n" for line in lines)


def shell(words: Words, *, indent: str = "  ", first: str = "") -> str:
    """A command over several lines, as a shell reads it."""
    return f" \\\n{indent}".join(
        first * (place == 0) + shlex.join(group) for place, group in enumerate(words)
    )


def script(words: Words, *, head: Iterable[str], environment: Mapping[str, str]) -> str:
    """A script that becomes the command."""
    exported = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    return f'#!/bin/sh\n{comments(head)}set -eu\n\n{exported}\n{shell(words, first="exec ")} "$@"\n'


def flat(words: Words) -> list[str]:
    """The command word by word."""
    return [word for group in words for word in group]


def unit_word(word: str) -> str:
    """A word of ExecStart=: quoted, % and $ doubled."""
    doubled = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{doubled}"'


def given(*pairs: tuple[str, object]) -> Words:
    """Flags with what they are given; None leaves one out, True is a flag alone."""
    kept = [(flag, value) for flag, value in pairs if value is not None and value is not False]
    return tuple((flag,) if value is True else (flag, str(value)) for flag, value in kept)
