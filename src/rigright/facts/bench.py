"""What healthy hardware reaches: measured figures, and what each benchmark of ours should reach."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

from rigright.base.errors import DataError
from rigright.base.loader import records
from rigright.base.record import dataclass, replace
from rigright.base.units import GIGA, MEGA, MIB, TERA
from rigright.base.words import say

_BITS = 8
_SIZED = 3  # words: a name, a number, its unit
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
    said: str = ""  # as the source writes it: "794.5 TFLOP/s"
    kind: str  # "measured"; "least": below it a machine is turned away; "claim": somebody's word
    source: str
    as_of: str
    confidence: str
    notes: str | None


@cache
def references() -> tuple[Reference, ...]:
    """Every figure of the table, in its order."""
    return tuple(map(_in_si, records("bench_reference.csv", Reference)))


def _in_si(row: Reference) -> Reference:
    if row.unit not in _UNITS:
        raise DataError(say("bench_reference.csv: unknown unit {unit}", unit=row.unit))
    unit, factor = _UNITS[row.unit]
    return replace(row, value=row.value * factor, unit=unit, said=f"{row.value:g} {row.unit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One row: of one figure of one part of the benchmark."""

    part: str
    what: str  # a pattern: "sequential read*"
    law: str | None  # of doctor/laws.py: what the hardware states
    kind: str | None  # of disk, where it holds for one kind only
    from_mib: float | None  # of the size that `what` ends with: smaller ones reach less
    share: float | None  # of that, below which it is slow
    floor: float | None  # where there is no law: the least, or for times the most, in SI
    references: tuple[str, ...] = ()  # names in bench_reference.csv
    checks: tuple[str, ...] = ()  # of the doctor, that say why it is less
    source: str
    as_of: str
    confidence: str


@cache
def expectations() -> tuple[Expectation, ...]:
    """Every row, in the order of the table."""
    return records("bench_expected.csv", Expectation)


def expected(part: str, what: str, *, kind: str | None = None) -> Expectation | None:
    """The first row that is about a figure."""
    size_mib = size_mib_of(what)
    return next(
        (
            row
            for row in expectations()
            if row.part == part and fnmatchcase(what, row.what) and row.kind in {None, kind}
            if row.from_mib is None or (size_mib is not None and size_mib >= row.from_mib)
        ),
        None,
    )


def size_mib_of(what: str) -> float | None:
    """The size that a name ends with: "all_reduce 8192 MiB"."""
    words = what.split()
    try:
        return float(words[-2]) if len(words) >= _SIZED and words[-1] == "MiB" else None
    except ValueError:
        return None
