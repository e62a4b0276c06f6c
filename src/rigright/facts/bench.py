"""What healthy hardware reaches: measured figures, and the least that operators accept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.errors import DataError
from rigright.base.tables import DATA, number, read_rows, text, whole
from rigright.base.units import GIGA, MEGA, MIB, TERA
from rigright.base.words import say

_BITS = 8
_UNITS = {
    "TFLOP/s": ("flops_per_s", TERA),
    "GB/s": ("bytes_per_s", GIGA),
    "Gb/s": ("bytes_per_s", GIGA / _BITS),
    "MB/s": ("bytes_per_s", MEGA),
    "MiB/s": ("bytes_per_s", MIB),
    "IOPS": ("ops_per_s", 1),
    "tok/s": ("tok_per_s", 1),
    "s": ("s", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One figure of one benchmark on one machine."""

    what: str  # the benchmark
    on: str  # what the source says it ran on
    chip: str | None  # an id of chips.csv
    n_chips: int | None
    value: float  # in `unit`, SI
    unit: str  # "flops_per_s", "bytes_per_s", "ops_per_s", "tok_per_s", "s"
    said: str  # as the source writes it: "794.5 TFLOP/s"
    kind: str  # "measured"; "least": below it a machine is turned away; "claim": somebody's word
    source: str
    as_of: str
    confidence: str
    notes: str | None


@cache
def references() -> tuple[Reference, ...]:
    """Every figure of the table, in its order."""
    words = ("what", "on", "chip", "unit", "kind", "source", "as_of", "confidence", "notes")
    readers = dict.fromkeys(words, text) | {"n_chips": whole, "value": number}
    required = tuple(column for column in readers if column not in {"chip", "n_chips", "notes"})
    found = []
    for row in read_rows(DATA / "bench_reference.csv", readers, required=required):
        if row["unit"] not in _UNITS:
            raise DataError(say("bench_reference.csv: unknown unit {unit}", unit=row["unit"]))
        unit, factor = _UNITS[row["unit"]]
        said = f"{row['value']:g} {row['unit']}"
        found.append(Reference(**row | {"value": row["value"] * factor, "unit": unit, "said": said}))
    return tuple(found)
