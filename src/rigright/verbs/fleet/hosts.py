"""Names of many nodes in few words, as cluster tools write and read them: node[01-08,12],gpu9."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path

from rigright.base.errors import AskError, DataError
from rigright.base.files import no_file, read_bounded
from rigright.base.units import MIB
from rigright.base.words import Sentence, say

MOST_NODES = 20_000
MOST_BYTES = 4 * MIB
_MOST_RANGES = 16  # in one name
_NAME = re.compile(r"[A-Za-z0-9_%][A-Za-z0-9._%@:/-]{0,252}")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_TAIL = re.compile(r"(.*?)(\d{1,18})")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_WORD = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")  # up to a comma that stands in no brackets
_LIST = re.compile(rf"(?:{_WORD.pattern}|,)*")


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
        raise no_file(words)
    return expand(words)


def read_hosts(path: Path) -> tuple[str, ...]:
    """Names in a file, one or several a line; what follows a space, such as slots=8, is left out."""
    names: dict[str, None] = {}
    for number, line in enumerate(read_bounded(path, MOST_BYTES).decode("utf-8", "replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            names |= dict.fromkeys(expand(words[0], where=say("{file}, line {line}", file=path, line=number)))
    if not names:
        raise DataError(say("{file} contains no hosts; write one per line", file=path))
    return tuple(names)


def expand(words: str, *, where: Sentence | str = "") -> tuple[str, ...]:
    """Every name of a list with ranges, in its order, each once."""
    if not _LIST.fullmatch(words):
        raise _wrong(words, where=where)
    names: dict[str, None] = {}
    for match in _WORD.finditer(words):
        pieces = _RANGES.split(match[0].strip())  # text and ranges by turns
        if len(pieces) > 2 * _MOST_RANGES + 1:
            raise _wrong(match[0].strip(), where=where)
        choices = [
            tuple(islice(_numbers(piece, words, where=where), MOST_NODES + 1)) if place % 2 else (piece,)
            for place, piece in enumerate(pieces)
        ]
        for count, name in enumerate(map("".join, product(*choices)), 1):
            if not name and len(pieces) == 1:  # nothing between two commas
                continue
            if not _NAME.fullmatch(name):
                raise _wrong(name, where=where)
            names[name] = None
            if len(names) > MOST_NODES or count > MOST_NODES:
                raise AskError(
                    say("{words} expands to more than {most} hosts", words=words[:60], most=MOST_NODES)
                )
    return tuple(names)


def listed(text: object) -> set[str]:
    """The names of a list that Slurm or a node wrote; none where it is no list."""
    try:
        return set(expand(text)) if isinstance(text, str) else set()
    except AskError:
        return set()


def _numbers(inside: str, words: str, *, where: Sentence | str) -> Iterator[str]:
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise _wrong(words, where=where)
        first, last = match[1], match[2] or match[1]
        if not int(first) <= int(last) < int(first) + MOST_NODES:
            raise _wrong(words, where=where)
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))


def _wrong(name: str, *, where: Sentence | str) -> AskError:
    shown = name[:60]
    if where:
        return AskError(say('{where}: "{name}" is not a host name', where=where, name=shown))
    return AskError(say('"{name}" is not a host name; for example node[01-08],gpu9 or user@host', name=shown))


def file_of(node: str) -> str:
    """The file that a node's answer is kept in."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in node)[:200] + ".json"


def folded(names: Iterable[str]) -> str:
    """Many names in few words: node[01-03,07],gpu9."""
    groups: dict[tuple[str, int], list[str]] = {}
    for name in sorted(set(names), key=by_number):
        match = _TAIL.fullmatch(name)
        key, number = ((match[1], len(match[2])), match[2]) if match else ((name, 0), "")
        groups.setdefault(key, []).append(number)
    return ",".join(_fold(start, numbers) for (start, _), numbers in groups.items())


def by_number(name: str) -> tuple[str, int, str]:
    """The order in which people count nodes: n2 before n10."""
    match = _TAIL.fullmatch(name)
    return (match[1], int(match[2]), name) if match else (name, -1, name)


def _fold(start: str, numbers: list[str]) -> str:
    if len(numbers) == 1:
        return start + numbers[0]
    runs: list[list[str]] = []
    for number in numbers:
        if runs and int(number) == int(runs[-1][-1]) + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return f"{start}[{','.join('-'.join(run) for run in runs)}]"
