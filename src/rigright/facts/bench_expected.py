"""What each benchmark should reach: a share of what the hardware states, or a floor; and where to look."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from rigright.base.tables import DATA, CellReader, number, read_rows, text

_SIZED = 3  # words: a name, a number, its unit


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
    references: tuple[str, ...]  # names in bench_reference.csv
    checks: tuple[str, ...]  # of the doctor, that say why it is less
    source: str
    as_of: str
    confidence: str


def _words(cell: str) -> tuple[str, ...]:
    return tuple(cell.split())


@cache
def expectations() -> tuple[Expectation, ...]:
    """Every row, in the order of the table."""
    words = ("part", "what", "law", "kind", "source", "as_of", "confidence")
    readers: dict[str, CellReader] = dict.fromkeys(words, text)
    readers |= {"from_mib": number, "share": number, "floor": number, "references": _words, "checks": _words}
    rows = read_rows(
        DATA / "bench_expected.csv", readers, required=("part", "what", "source", "as_of", "confidence")
    )
    return tuple(
        Expectation(**row | {name: row[name] or () for name in ("references", "checks")}) for row in rows
    )


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
