"""Names of many nodes in few words, as cluster tools write them: node[01-08,12],gpu9."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rigright.base.errors import AskError, DataError
from rigright.base.files import read_bounded
from rigright.base.units import MIB
from rigright.base.words import Sentence, say

MOST_NODES = 20_000
MOST_BYTES = 4 * MIB
_MOST_RANGES = 16  # in one name
_NAME = re.compile(r"[A-Za-z0-9_%][A-Za-z0-9._%@:/-]{0,252}")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_OPEN = re.compile(r"([^\[\],]*)\[([^\[\]]*)\]")


def hosts_of(words: str) -> tuple[str, ...]:
    """The nodes that words mean: a file of names, or names and ranges with commas between."""
    path = Path(words)
    if not words.strip():
        raise AskError(say("no host given; for example node[01-08], or a file with one host per line"))
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if is_file:
        return read_hosts(path)
    if "/" in words or path.suffix in {".txt", ".hosts", ".list"}:
        raise AskError(say("no such file: {file}", file=words))
    return expand(words)


def read_hosts(path: Path) -> tuple[str, ...]:
    """Names in a file, one or several a line; what follows a space, such as slots=8, is left out."""
    found: dict[str, None] = {}
    for number, line in enumerate(read_bounded(path, MOST_BYTES).decode("utf-8", "replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            found |= dict.fromkeys(expand(words[0], where=say("{file}, line {line}", file=path, line=number)))
    if not found:
        raise DataError(say("{file} contains no hosts; write one per line", file=path))
    return tuple(found)


def expand(words: str, *, where: Sentence | str = "") -> tuple[str, ...]:
    """Every name of a list with ranges, in its order, each once."""
    found: dict[str, None] = {}
    # cut at commas that stand in no brackets
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(words):
        depth += (letter == "[") - (letter == "]")
        if depth not in {0, 1}:
            raise _wrong(words, where=where)
        if letter == "," and not depth:
            parts.append(words[start:place])
            start = place + 1
    if depth:
        raise _wrong(words, where=where)
    for word in [part.strip() for part in (*parts, words[start:]) if part.strip()]:
        if word.count("[") > _MOST_RANGES:
            raise _wrong(word, where=where)
        for count, name in enumerate(_expanded(word, words, where=where), 1):
            if not _NAME.fullmatch(name):
                raise _wrong(name, where=where)
            found[name] = None
            if len(found) > MOST_NODES or count > MOST_NODES:
                raise AskError(
                    say("{words} expands to more than {most} hosts", words=words[:60], most=MOST_NODES)
                )
    return tuple(found)


def _expanded(word: str, words: str, *, where: Sentence | str) -> Iterator[str]:
    """One word with its first range written out, and the rest in turn."""
    found = _OPEN.match(word)
    if found is None:
        yield word
        return
    rest = word[found.end() :]
    tails = list(islice(_expanded(rest, words, where=where), MOST_NODES + 1)) if rest else [""]
    for number in _numbers(found[2], words, where=where):
        for tail in tails:
            yield f"{found[1]}{number}{tail}"


def _numbers(inside: str, words: str, *, where: Sentence | str) -> Iterator[str]:
    for part in inside.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise _wrong(words, where=where)
        first, last = found[1], found[2] or found[1]
        if not int(first) <= int(last) < int(first) + MOST_NODES:
            raise _wrong(words, where=where)
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def _wrong(name: str, *, where: Sentence | str) -> AskError:
    shown = name[:60]
    if where:
        return AskError(say('{where}: "{name}" is not a host name', where=where, name=shown))
    return AskError(say('"{name}" is not a host name; for example node[01-08],gpu9 or user@host', name=shown))
