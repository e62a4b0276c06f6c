"""Text of launch files: commands in groups of words, scripts, comments, YAML."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from rigright.base import tables

Words = tuple[tuple[str, ...], ...]  # a command in groups: a flag and its value stand on one line


class Variable(str):
    """A word that each node fills in for itself: `HEAD`, `NODE_RANK`; `shown` is how a shell reads it."""

    __slots__ = ("after", "shown")

    def __new__(cls, name: str, after: str = "", *, before: str = "") -> Self:
        """A variable, with plain text around it."""
        made = super().__new__(cls, name)
        made.shown = f'{before}"${{{name}}}{after}"'
        made.after = after
        return made

    shown: str
    after: str


HEAD, RANK, SEED = Variable("HEAD"), Variable("NODE_RANK"), Variable("SEED")
DATA, TRAIN_ITERS = Variable("DATA"), Variable("TRAIN_ITERS")
ASKED = {  # how a shell fills one that is not set
    "HEAD": "?the address of the first node",
    "NODE_RANK": "?the number of this node, from 0",
    "DATA": "?the prefix of the data set",
    "EVAL": "=$DATA",
    "REWARD": "?a reward model, or the address of what gives rewards",
    "TRAIN_ITERS": "?how many steps to train",
    "SEED": "=$(date +%s)",
}


def comments(lines: Iterable[str], mark: str = "#") -> str:
    """Lines of comment."""
    return "".join(f"{mark} {' '.join(line.split())}\n" for line in lines)


def shell(words: Words, *, indent: str = "  ", first: str = "") -> str:
    """A command over several lines, as a shell reads it."""
    lines = (
        " ".join(word.shown if isinstance(word, Variable) else shlex.quote(word) for word in group)
        for group in words
    )
    return f" \\\n{indent}".join(first * (place == 0) + line for place, line in enumerate(lines))


def script(
    words: Words,
    *,
    head: Iterable[str],
    environment: Mapping[str, str],
    last: Words = (),
    workers: Words = (),
) -> str:
    """A script that becomes the command; `last` stands behind what its caller adds.

    `workers` are words of every node but the first.
    """
    exported = asked_for(words) + "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()
    )
    end = f" {shell(last)}" if last else ""
    text = exported + (for_workers(workers) if workers else "")
    between = f"{text}\n" if text else ""
    return f'#!/bin/sh\n{comments(head)}set -eu\n\n{between}{shell(words, first="exec ")} "$@"{end}\n'


def asked_for(words: Words, *, known: tuple[str, ...] = ()) -> str:
    """Lines that stop a script where a variable of its command is not set; `known` are set by itself."""
    filled = {word: None for group in words for word in group if isinstance(word, Variable)}
    return "".join(f': "${{{name}:{ASKED[name]}}}"\n' for name in filled if name not in known)


def for_workers(words: Words) -> str:
    """A line that adds words on every node but the first."""
    return f'[ "$NODE_RANK" = 0 ] || set -- {shell(words)} "$@"\n'


def flat(words: Words) -> list[str]:
    """The command word by word."""
    return [word for group in words for word in group]


def unit_word(word: str) -> str:
    """A word of a unit: quoted, % doubled; in ExecStart= so is $."""
    doubled = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{doubled}"'


def given(*pairs: tuple[str, object]) -> Words:
    """Flags with what they are given; None leaves one out, True is a flag alone."""
    kept = [(flag, value) for flag, value in pairs if value is not None and value is not False]
    return tuple(
        (flag,) if value is True else (flag, value if isinstance(value, Variable) else str(value))
        for flag, value in kept
    )


_PLAIN_KEY = re.compile(
    r"[A-Za-z][A-Za-z_]*[A-Za-z]"
)  # longer than a letter: "y" and "n" are read as yes and no
_WORDS_OF_YAML = {"yes", "no", "on", "off", "true", "false", "null"}
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def dumps(data: Mapping[str, Any], *head: str) -> str:
    """A document, with lines of comment before it."""
    return "\n".join([*(f"# {line}" for line in head), *_lines(data)]) + "\n"


def _lines(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS_OF_YAML
            head = f"{(key if plain else _scalar(key))}:"
            if _is_block(value):
                yield head
                yield from (f"  {line}" for line in _lines(value))
            else:
                yield f"{head} {_scalar(value)}"
    else:
        for value in data:
            yield from _item(value)


def _item(value: Any) -> Iterator[str]:
    if not _is_block(value):
        yield f"- {_scalar(value)}"
        return
    for place, line in enumerate(_lines(value)):
        yield f"- {line}" if place == 0 else f"  {line}"


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)


def _scalar(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def template(name: str) -> str:
    """A script whose marks a launch fills in."""
    return (tables.DATA / "train" / f"{name}.txt").read_text("utf-8")
