"""Old rows as fewer: a mean and a peak for each stretch of time, and what was worst of states."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rigright.machine.history.columns import (
    AT,
    CLOCK,
    DEVICE_KINDS,
    HOST_KINDS,
    MS,
    ON_BUS,
    PEAK,
    TICKS,
    Row,
)

_LEAST = {"pcie_lanes", "links_active", ON_BUS}  # the least is the news
_COUNTERS = {"energy_j", "mem_total_bytes", "power_limit_w", "swap_used_bytes"}
_QUIET = {"ok", "none", ""}  # words that are no news
_MEANS = {
    name for name, kind in (DEVICE_KINDS | HOST_KINDS).items() if kind == "float" and name not in _COUNTERS
}


def thinned(rows: Sequence[Row], step_s: float) -> list[Row]:
    """Neighbours that lie in one stretch of time, as one row each."""
    step = round(step_s / MS)
    return [_one(list(group)) for _, group in groupby(rows, key=lambda row: int(row[AT]) // step)]


def _one(rows: list[Row]) -> Row:
    weights = [int(row.get(TICKS, 1)) for row in rows]
    fields: Row = {AT: rows[0][AT], TICKS: sum(weights)}
    for column in dict.fromkeys(name for row in rows for name in row):
        if column in {AT, TICKS} or column.endswith(PEAK):
            continue
        there = [(row[column], weight) for row, weight in zip(rows, weights, strict=True) if column in row]
        name = column.rpartition(".")[2]
        numbers = [(value, weight) for value, weight in there if isinstance(value, int)]
        if not numbers:
            fields[column] = _word(name, [str(value) for value, _ in there])
            continue
        # a mean of what goes up and down, the last of clocks, else the most or the least
        if name == CLOCK:
            number = numbers[0][0]
        elif name in _MEANS:
            number = round(
                sum(value * weight for value, weight in numbers) / sum(weight for _, weight in numbers)
            )
        else:
            values = [value for value, _ in numbers]
            number = min(values) if name in _LEAST else max(values)
        fields[column] = number
        if name in _MEANS:
            peaks = (row.get(column + PEAK, row.get(column)) for row in rows)
            fields[column + PEAK] = max(peak for peak in peaks if isinstance(peak, int))
    return fields


def _word(name: str, words: list[str]) -> str:
    """All reasons that held a card back; else the last word that is news, else the last."""
    if name == "slowed_by":
        return ",".join(dict.fromkeys(text for word in words for text in word.split(",") if text))
    return next((word for word in reversed(words) if word not in _QUIET), words[-1])
