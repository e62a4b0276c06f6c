"""What nccl-tests and nvbandwidth print, as results. Foreign text: lines that do not fit are passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.units import GIGA, MIB
from rigright.base.words import say
from rigright.machine.bench.record import Result
from rigright.machine.bench.tasks import spread

MOST_LINES = 20_000
_MOST_DIGITS = 18
_LABEL = re.compile(r"(?:\[\d+,\d+\]<\w+>:|\d+: )")  # of mpirun --tag-output, of srun --label
_HEADS = ("size", "count", "type", "redop", "root", *("time", "algbw", "busbw", "#wrong") * 2)
_NAME = re.compile(
    r"\b(?:[nr]ccl[_-])?"
    r"(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|sendrecv|reduce)(?:_perf\b|[._-]?\w*\Z)",
    re.IGNORECASE,
)
_PLAIN = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "sendrecv": "sendrecv",
    "reduce": "reduce",
}
_REDUCES = {"sum", "prod", "max", "min", "avg", "mulsum"}
_ABOVE = 200  # lines above a table, in which its command may stand
_LEAST_RANKS, _NEAR = 3, 0.03
_RANKS = re.compile(r"\s*#?\s*Rank\s+(\d{1,18})\s.*?\bon\s+(\S+)\s+device\b")
_SPOILT = re.compile(r"\s*#?\s*Out of bounds values : (\d{1,9}) FAILED")
_ROW = re.compile(r"\s*(\d{1,18})((?:\s+(?:[\d.]+|N/A))+)\s*$")


def nccl_tests(text: str, *, collective: str | None = None, file: str = "") -> list[Result]:
    """Each size of each table of nccl-tests: the rate of the wires, out of place, beside it in place."""
    if (told_by_json := json_table(text)) is not None:
        text = told_by_json
    lines = [_LABEL.sub("", line, count=1) for line in text.splitlines()[:MOST_LINES]]
    starts = [at for at, line in enumerate(lines) if line.startswith("# nThread")]
    ends = [*starts[1:], len(lines)]
    tables = list(zip(starts, ends, strict=True)) if len(starts) > 1 else [(0, len(lines))]
    results, number = [], 0
    for start, end in tables:
        rows = list(_rows(lines[start:end]))
        number += len(rows)
        places = [match.groups() for line in lines[start:end] if (match := _RANKS.match(line))]
        ranks, nodes = len({rank for rank, _ in places}), len({host for _, host in places})
        before = "\n".join(lines[:end] if len(tables) == 1 else lines[max(0, start - _ABOVE) : start])
        name = (
            collective
            or collective_in(before)
            or _by_rates(rows, ranks)
            or collective_in(file)
            or "collective"
        )
        settings = (
            *((("ranks", str(ranks)),) if ranks else ()),
            *((("nodes", str(nodes)),) if nodes > 1 else ()),
            *(("tool", "nccl-tests"), ("counted", "busbw")),
        )
        results += [row.result(name, settings) for row in rows if any(row.rates) or row.wrong]
    if number and not results:
        raise DataError(
            say(
                "this nccl-tests log has no inter-GPU traffic: each process ran alone; build with "
                "MPI=1, or pass -g NGPUS"
            )
        )
    return results


def json_table(text: str) -> str | None:
    """What `-J` of nccl-tests wrote, as the table that it prints; None where it is none."""
    if '"out_of_place"' not in text and '"in_place"' not in text:
        return None
    try:
        data = bounded_json(text[text.index("{") :])
        rows = data["results"][:MOST_LINES]
        lines = ["# " + json.dumps({**data, "results": None})[:4000]]
        listed = data.get("devices")
        for place, value in enumerate(listed[:MOST_LINES] if isinstance(listed, list) else ()):
            words = ("rank", place), ("host", "host"), ("device", place), ("pci", "0:0:0"), ("name", "?")
            rank, host, device, pci, name = (value.get(word, usual) for word, usual in words)
            lines.append(f"#  Rank {rank} Group 0 Pid 0 on {host} device {device} [{pci}] {name}")
        for row in rows:
            cells = [row["size"], row["count"], row["type"], row.get("redop", "none"), row.get("root", -1)]
            for way in (row.get("out_of_place"), row.get("in_place")):
                rates = way if isinstance(way, dict) else {}
                job, wire = (rates.get(f"{name}_bw", rates.get(f"{name}bw", 0)) for name in ("alg", "bus"))
                cells += [rates.get("time", 0), job, wire, rates.get("nwrong", "N/A")]
            lines.append(" ".join(str(cell).replace(" ", "_") or "-" for cell in cells))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return "\n".join(lines)


def _by_rates(rows: list[_SizeRow], ranks: int) -> str | None:
    """Which collective it was, where no name is stated: by the rate of the wires over the rate of the job."""
    last = next((row for row in reversed(rows) if row.busbw_over_algbw), None)
    if last is None or ranks < _LEAST_RANKS or last.busbw_over_algbw is None:
        return None
    share = (ranks - 1) / ranks
    if abs(last.busbw_over_algbw - 2 * share) < _NEAR:
        return "all_reduce"
    return "reduce_scatter" if abs(last.busbw_over_algbw - share) < _NEAR and last.reduces else None


@dataclass(frozen=True, slots=True)
class _SizeRow:
    """One size."""

    size: int
    rates: list[float]  # out of place, in place
    wrong: float
    busbw_over_algbw: float | None = None
    reduces: bool = False

    def result(self, name: str, settings: tuple[tuple[str, str], ...]) -> Result:
        return spread(
            f"{name} {self.size / MIB:g} MiB",
            on="gpu all",
            values=[rate * GIGA for rate in self.rates],
            unit="bytes_per_s",
            settings=(*settings, *((("wrong", f"{self.wrong:g}"),) if self.wrong else ())),
        )


def _rows(lines: list[str]) -> Iterator[_SizeRow]:
    """Each size; old ones tell the error of rounding, and only below the table how many values are wrong."""
    heads, last = list(_HEADS), None
    for line in lines:
        cells = line.split()
        texts = line.lstrip(" #").split()
        if texts[:3] == heads[:3] and "busbw" in texts:
            heads = texts
        elif (row := _row(list(zip(heads, cells, strict=False)))) is not None:
            if last is not None:
                yield last
            last = row
        elif last is not None and "error" in heads and (match := _SPOILT.match(line)):
            last = replace(last, wrong=float(match.group(1)))
    if last is not None:
        yield last


def _row(cells: list[tuple[str, str]]) -> _SizeRow | None:
    """A line of the table; None where it is none."""
    try:
        size, count, kind = (cell for _, cell in cells[:3])
        rates = [float(cell) for head, cell in cells if head == "busbw"]
    except ValueError:
        return None
    sound = rates and all(0 <= rate < GIGA for rate in rates) and kind[0].isalpha()
    if not (sound and size.isdecimal() and count.isdecimal() and len(size) <= _MOST_DIGITS):
        return None
    job = next((_number(cell) for head, cell in cells if head == "algbw"), None)
    return _SizeRow(
        int(size),
        rates,
        sum(_wrong(cell) for head, cell in cells if head == "#wrong"),
        busbw_over_algbw=rates[0] / job if job and job > 1 else None,
        reduces=any(head == "redop" and cell in _REDUCES for head, cell in cells),
    )


def collective_in(text: str) -> str | None:
    """The collective that a text names last: "alltoall_perf" is all_to_all."""
    values = _NAME.findall(text)
    return _PLAIN[values[-1].lower().replace("_", "").replace("-", "")] if values else None


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
            return _of_json(bounded_json(text[begin:]))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
    # A matrix stands under "Running NAME."; what its rows are and which way it goes, in the line above it
    results: list[Result] = []
    name, way, rows = "", "", list[list[float | None]]()
    for line in [*text.splitlines()[:MOST_LINES], "Running end."]:
        if line.startswith("Running "):
            results.extend(_of_matrix(name, rows, way=way))
            name, way, rows = line.removeprefix("Running ").strip().rstrip("."), "", []
        elif "(row)" in line or "(column)" in line:
            way = line
        elif (match := _ROW.match(line)) and "." in line and int(match.group(1)) == len(rows):
            rows.append([_number(cell) for cell in match.group(2).split()])
    return results


def _of_json(data: Any) -> list[Result]:
    results = []
    for test in data["nvbandwidth"]["testcases"]:
        matrix = test.get("bandwidth_matrix") or []
        rows = [[_number(cell) for cell in row] for row in matrix]
        results += _of_matrix(str(test["name"]), rows, way=str(test.get("bandwidth_description") or ""))
    return results


def _of_matrix(name: str, rows: list[list[float | None]], *, way: str) -> list[Result]:
    """One row: a figure a card. Several: from processor to card where a host is an end, else card to card."""
    is_host = "host" in name or "CPU(row)" in way
    told_by_name = "_write_" in name or name.startswith(("device_to_host", "all_to_host"))
    is_back = ("<-" in way and "<->" not in way) if way else told_by_name  # the row is where it ends
    results = []
    for a, row in enumerate(rows):
        for b, value in enumerate(row):
            if value is None or (len(rows) > 1 and a == b and not is_host):
                continue
            ends = (f"cpu {a}" if is_host else f"gpu {a}", f"gpu {b}")
            on = f"gpu {b}" if len(rows) == 1 else " -> ".join(reversed(ends) if is_back else ends)
            words = (("tool", "nvbandwidth"),)
            pair = (value / GIGA, "s") if "latency" in name else (value * GIGA, "bytes_per_s")
            results.append(spread(name, on=on, values=[pair[0]], unit=pair[1], settings=words))
    return results


def _number(cell: object) -> float | None:
    try:
        value = float(str(cell))
    except ValueError:
        return None
    return value if 0 < value < GIGA else None
