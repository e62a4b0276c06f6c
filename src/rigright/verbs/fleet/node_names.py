"""Many nodes in few words, as cluster tools write them: node[01-03,07],gpu9."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TAIL = re.compile(r"(.*?)(\d{1,18})")


def file_of(node: str) -> str:
    """The file that a node's answer is kept in."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in node)[:200] + ".json"


def folded(names: Iterable[str]) -> str:
    """Many names in few words: node[01-03,07],gpu9."""
    groups: dict[tuple[str, int], list[str]] = {}
    for name in sorted(set(names), key=by_number):
        found = _TAIL.fullmatch(name)
        key, number = ((found[1], len(found[2])), found[2]) if found else ((name, 0), "")
        groups.setdefault(key, []).append(number)
    return ",".join(_fold(start, numbers) for (start, _), numbers in groups.items())


def by_number(name: str) -> tuple[str, int, str]:
    """The order in which people count nodes: n2 before n10."""
    found = _TAIL.fullmatch(name)
    return (found[1], int(found[2]), name) if found else (name, -1, name)


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
