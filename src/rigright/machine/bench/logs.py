"""What nccl-tests and nvbandwidth print, as results. Foreign text: lines that do not fit are passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rigright.base.errors import DataError
from rigright.base.units import GIGA, MIB
from rigright.base.words import say
from rigright.machine.bench.figures import spread
from rigright.machine.bench.record import Result

MOST_LINES = 20_000
_SUM = re.compile(
    r"\s*(\d{1,18})\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+)\s+([\d.]+)\s+([\d.]+)\s+(\d{1,9}(?:\.\d*)?)\s+(\S+)(.*)"
)
_NAME = re.compile(
    r"(all_reduce|all_gather|reduce_scatter|alltoall|all_to_all|broadcast|sendrecv|reduce)_perf"
)
_RANKS = re.compile(r"#\s+Rank\s+\d+")
_ROW = re.compile(r"\s*(\d+)((?:\s+(?:[\d.]+|N/A))+)\s*$")


def nccl_tests(text: str, *, collective: str | None = None) -> list[Result]:
    """Each size of a log of nccl-tests: the rate of the wires, out of place, beside it in place."""
    name = collective or _named(text)
    lines = text.splitlines()[:MOST_LINES]
    ranks = sum(bool(_RANKS.match(line)) for line in lines)
    found = []
    for line in lines:
        match = _SUM.match(line)
        if match is None:
            continue
        inside, wrong_inside = _in_place(match.group(10))
        values = [float(match.group(8)), *inside]
        wrong = _wrong(match.group(9)) + _wrong(wrong_inside)
        found.append(
            spread(
                f"{name} {int(match.group(1)) / MIB:g} MiB",
                on="gpu all",
                values=[value * GIGA for value in values],
                unit="bytes_per_s",
                settings=(
                    *((("ranks", str(ranks)),) if ranks else ()),
                    *(("tool", "nccl-tests"), ("counted", "busbw")),
                    *((("wrong", f"{wrong:g}"),) if wrong else ()),
                ),
            )
        )
    if not found:
        raise DataError(say("this is no table of nccl-tests"))
    return found


def _named(text: str) -> str:
    match = _NAME.search(text)
    return match.group(1).replace("alltoall", "all_to_all") if match else "collective"


def _in_place(rest: str) -> tuple[list[float], str]:
    """The rate of the wires in place, and how many values were wrong: the last two numbers."""
    words = rest.split()
    try:
        return [float(words[2])], words[3] if len(words) > 3 else "0"
    except (IndexError, ValueError):
        return [], "0"


def _wrong(cell: str) -> float:
    """How many values were wrong; N/A: nobody looked."""
    try:
        return float(cell)
    except ValueError:
        return 0.0


def nvbandwidth(text: str) -> list[Result]:
    """Each test of nvbandwidth's JSON, or of its plain print."""
    begin = text.find("{")
    if begin >= 0:
        try:
            return _of_json(json.loads(text[begin:]))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
    found = list(_of_print(text.splitlines()[:MOST_LINES]))
    if not found:
        raise DataError(say("this is nothing that nvbandwidth prints"))
    return found


def _of_json(data: Any) -> list[Result]:
    tests = data["nvbandwidth"]["testcases"]
    found = []
    for test in tests:
        matrix = test.get("bandwidth_matrix") or []
        rows = [[_number(cell) for cell in row] for row in matrix]
        found += _of_matrix(str(test["name"]), rows)
    return found


def _of_print(lines: list[str]) -> Iterator[Result]:
    """A matrix stands under "Running NAME."; its head counts columns, each row begins with its place."""
    name, rows = "", list[list[float | None]]()
    for line in [*lines, "Running end."]:
        if line.startswith("Running "):
            yield from _of_matrix(name, rows)
            name, rows = line.removeprefix("Running ").strip().rstrip("."), []
        elif (match := _ROW.match(line)) and "." in line and int(match.group(1)) == len(rows):
            rows.append([_number(cell) for cell in match.group(2).split()])


def _of_matrix(name: str, rows: list[list[float | None]]) -> list[Result]:
    """One row: a figure a card. Several: from card to card."""
    found = []
    for a, row in enumerate(rows):
        for b, value in enumerate(row):
            if value is None or (len(rows) > 1 and a == b):
                continue
            on = f"gpu {b}" if len(rows) == 1 else f"gpu {a} -> gpu {b}"
            words = (("tool", "nvbandwidth"),)
            found.append(spread(name, on=on, values=[value * GIGA], unit="bytes_per_s", settings=words))
    return found


def _number(cell: object) -> float | None:
    try:
        value = float(str(cell))
    except ValueError:
        return None
    return value if 0 < value < GIGA else None
