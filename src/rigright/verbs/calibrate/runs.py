"""Measured runs as rows: files of any kind, known by their heads; a bad cell costs its row and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rigright.base.errors import MissingError, RigError
from rigright.base.tables import DATA, Row, open_rows, read_cells
from rigright.base.words import Sentence, say
from rigright.verbs.calibrate.record import Subject
from rigright.verbs.validate.files import read_text
from rigright.verbs.validate.frame import recognise

BESIDE = DATA.parents[2].parent / "shared" / "measured"  # where a checkout has its runs beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """One file, read."""

    file: str
    kind: str
    rows: tuple[Row, ...]
    faults: tuple[Sentence, ...]  # rows left out, and why


def read_runs(asked: str) -> Runs:
    """Read a file of measured runs; every bad cell is told with its line and column."""
    text = read_text(asked)
    kind = recognise(text)
    rows: list[Row] = []
    faults: list[Sentence] = []
    for line, raw in open_rows(text.lines, text.name, required=kind.marks):
        row, bad = read_cells(raw, kind.columns, required=kind.needed)
        rows += [row] if set(bad) <= set(kind.measured) else []
        faults += [_fault(text.name, line, column=column, cell=raw.get(column) or "") for column in bad]
    return Runs(file=text.name, kind=kind.name, rows=tuple(rows), faults=tuple(faults))


def files_beside() -> tuple[str, ...]:
    """The runs beside the checkout; where there are none, a file must be named."""
    found = tuple(str(path) for path in sorted(BESIDE.glob("*.csv")) if not path.name.startswith("peer"))
    if not found:
        raise MissingError(say("no measured runs are beside this program; name files with --runs"))
    return found


def taught(subject: Subject, rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Sentence, ...]]:
    """The rows a subject learns from and can prepare, and why others are left out."""
    useful = tuple(row for row in rows if subject.teaches(row))
    try:
        subject.prepare(useful)
    except RigError:
        good: list[Row] = []
        faults: list[Sentence] = []
        for row in useful:
            try:
                subject.prepare((row,))
            except RigError as error:
                faults.append(say("row {id}: {why}", id=row.get("id") or "-", why=error.whole))
            else:
                good.append(row)
        return tuple(good), tuple(faults)
    return useful, ()


def _fault(file: str, line: int, *, column: str, cell: str) -> Sentence:
    shown = cell.strip()[:40]
    if not shown:
        return say("{file}, line {line}, column {column}: empty", file=file, line=line, column=column)
    return say(
        '{file}, line {line}, column {column}: cannot read "{cell}"',
        file=file,
        line=line,
        column=column,
        cell=shown,
    )
