"""Measured runs as rows: files of any kind, known by their heads; a bad cell costs its row and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.record import LabError, Subject
from rigright.base.errors import RigError
from rigright.base.tables import Row, open_rows
from rigright.verbs.runs.files import read_text
from rigright.verbs.validate.foreign import noted_cells
from rigright.verbs.validate.verb import recognise

ROOT = Path(__file__).parent.parent
MEASURED = ROOT.parent / "shared" / "measured"  # where a checkout has its runs beside it
OWN = ROOT / "src" / "rigright" / "data" / "runs"
TEACHING = {  # files that teach, by the kind of table they are; all others only test
    "inference": (
        *("inference", "new/llamabench", "new/released_inference"),
        *("new/serving_energy", "new/mlperf60"),
    ),
    "training": ("training", "new/released_training"),
    "vision": ("vision", "new/released_vision"),
    "diffusion": ("new/images_energy", "new/diffusion"),
    "memory": ("memory",),
    "hybrid": ("new/hybrid",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """One file, read."""

    file: str
    kind: str
    rows: tuple[Row, ...]
    faults: tuple[str, ...]  # rows left out, and why


def read_runs(asked: str) -> Runs:
    """Read a file of measured runs; every bad cell is stated with its line and column."""
    text = read_text(asked)
    kind = recognise(text)
    rows: list[Row] = []
    faults: list[str] = []
    for line, raw in open_rows(text.lines, text.name, required=kind.marks):
        row, bad = noted_cells(kind.name, raw, required=kind.needed)
        rows += [row] if set(bad) <= set(kind.measured) else []
        faults += [f"{text.name}, line {line}, {column}: {(raw.get(column) or '')[:40]!r}" for column in bad]
    return Runs(file=text.name, kind=kind.name, rows=tuple(rows), faults=tuple(faults))


def files_beside() -> tuple[str, ...]:
    """The files beside the checkout that teach; where there are none, a file must be named."""
    named = (MEASURED / f"{name}.csv" for names in TEACHING.values() for name in names)
    texts = tuple(str(path) for path in named if path.is_file())
    if not texts:
        raise LabError("no measured runs are beside this checkout; name files with --runs")
    return texts


def taught(subject: Subject, rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The rows a subject learns from and can prepare, and why others are left out."""
    useful = tuple(row for row in rows if subject.teaches(row))
    try:
        subject.prepare(useful)
    except RigError:
        good: list[Row] = []
        faults: list[str] = []
        for row in useful:
            try:
                subject.prepare((row,))
            except RigError as error:
                faults.append(f"row {row.get('id') or '-'}: {error.whole}")
            else:
                good.append(row)
        return tuple(good), tuple(faults)
    return useful, ()
