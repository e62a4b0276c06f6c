"""What nccl-tests and nvbandwidth print, as results. Foreign text: lines that do not fit are passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rigright.base.errors import DataError
from rigright.base.units import GIGA, MIB
from rigright.base.words import say
from rigright.machine.bench.figures import spread
from rigright.machine.bench.record import Result

MOST_LINES = 20_000
_MOST_DIGITS = 18
_LABEL = re.compile(r"(?:\[\d+,\d+\]<\w+>:|\d+: )")  # of mpirun --tag-output, of srun --label
_HEADS = ("size", "count", "type", "redop", "root", *("time", "algbw", "busbw", "#wrong") * 2)
_NAME = re.compile(
    r"(all_reduce|all_gather|reduce_scatter|alltoall|all_to_all|broadcast|sendrecv|reduce)_perf"
)
_RANKS = re.compile(r"\s*#?\s*Rank\s+(\d+)\s.*\bdevice\b")
_SPOILT = re.compile(r"\s*#?\s*Out of bounds values : (\d{1,9}) FAILED")
_ROW = re.compile(r"\s*(\d+)((?:\s+(?:[\d.]+|N/A))+)\s*$")


def nccl_tests(text: str, *, collective: str | None = None) -> list[Result]:
    """Each size of a log of nccl-tests: the rate of the wires, out of place, beside it in place."""
    name = collective or _named(text)
    lines = [_LABEL.sub("", line, count=1) for line in text.splitlines()[:MOST_LINES]]
    ranks = len({match.group(1) for line in lines if (match := _RANKS.match(line))})
    settings = (*((("ranks", str(ranks)),) if ranks else ()), ("tool", "nccl-tests"), ("counted", "busbw"))
    rows = list(_rows(lines))
    found = [row.result(name, settings) for row in rows if any(row.rates) or row.wrong]
    if not rows:
        raise DataError(say("this is no table of nccl-tests"))
    if not found:
        raise DataError(
            say(
                "in this log of nccl-tests nothing went over wires: each process ran alone; "
                "build it with MPI=1, or give -g the number of cards"
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Row:
    """One size."""

    size: int
    rates: list[float]  # out of place, in place
    wrong: float

    def result(self, name: str, settings: tuple[tuple[str, str], ...]) -> Result:
        return spread(
            f"{name} {self.size / MIB:g} MiB",
            on="gpu all",
            values=[rate * GIGA for rate in self.rates],
            unit="bytes_per_s",
            settings=(*settings, *((("wrong", f"{self.wrong:g}"),) if self.wrong else ())),
        )


def _rows(lines: list[str]) -> Iterator[_Row]:
    """Each size; old ones tell the error of rounding, and only below the table how many values are wrong."""
    heads, last = list(_HEADS), None
    for line in lines:
        cells = line.split()
        told = line.lstrip(" #").split()
        if told[:3] == heads[:3] and "busbw" in told:
            heads = told
        elif (row := _row(list(zip(heads, cells, strict=False)))) is not None:
            if last is not None:
                yield last
            last = row
        elif last is not None and "error" in heads and (match := _SPOILT.match(line)):
            last = replace(last, wrong=float(match.group(1)))
    if last is not None:
        yield last


def _row(cells: list[tuple[str, str]]) -> _Row | None:
    """A line of the table; None where it is none."""
    try:
        size, count, kind = (cell for _, cell in cells[:3])
        rates = [float(cell) for head, cell in cells if head == "busbw"]
    except ValueError:
        return None
    sound = rates and all(0 <= rate < GIGA for rate in rates) and kind[0].isalpha()
    if not (sound and size.isdecimal() and count.isdecimal() and len(size) <= _MOST_DIGITS):
        return None
    return _Row(int(size), rates, sum(_wrong(cell) for head, cell in cells if head == "#wrong"))


def _named(text: str) -> str:
    match = _NAME.search(text)
    return match.group(1).replace("alltoall", "all_to_all") if match else "collective"


def _wrong(cell: str) -> float:
    """How many values were wrong; N/A: nobody looked."""
    try:
        count = float(cell)
    except ValueError:
        return 0.0
    return count if 0 <= count < GIGA else 0.0


def nvbandwidth(text: str) -> list[Result]:
    """Each test of nvbandwidth's JSON, or of its plain print."""
    begin = text.find("{")
    if begin >= 0:
        try:
            return _of_json(json.loads(text[begin:]))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
    # A matrix stands under "Running NAME."; its head counts columns, each row begins with its place
    lines = text.splitlines()[:MOST_LINES]
    of_print: list[Result] = []
    name, rows = "", list[list[float | None]]()
    for line in [*lines, "Running end."]:
        if line.startswith("Running "):
            of_print.extend(_of_matrix(name, rows))
            name, rows = line.removeprefix("Running ").strip().rstrip("."), []
        elif (match := _ROW.match(line)) and "." in line and int(match.group(1)) == len(rows):
            rows.append([_number(cell) for cell in match.group(2).split()])
    found = of_print
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


def _of_matrix(name: str, rows: list[list[float | None]]) -> list[Result]:
    """One row: a figure a card. Several: from card to card."""
    found = []
    for a, row in enumerate(rows):
        for b, value in enumerate(row):
            if value is None or (len(rows) > 1 and a == b):
                continue
            on = f"gpu {b}" if len(rows) == 1 else f"gpu {a} -> gpu {b}"
            words = (("tool", "nvbandwidth"),)
            told = (value / GIGA, "s") if "latency" in name else (value * GIGA, "bytes_per_s")
            found.append(spread(name, on=on, values=[told[0]], unit=told[1], settings=words))
    return found


def _number(cell: object) -> float | None:
    try:
        value = float(str(cell))
    except ValueError:
        return None
    return value if 0 < value < GIGA else None
