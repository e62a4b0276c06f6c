"""`calibrate`: refit the corrections from measured runs, say what changed, and write it when asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rigright.base import shelf
from rigright.base.errors import AskError, DataError
from rigright.base.words import say
from rigright.facts.corrections import corrections
from rigright.report.calibrated import Calibrated, SubjectRefit
from rigright.verbs.calibrate.record import Subject
from rigright.verbs.calibrate.refit import (
    bands_made,
    held_by,
    metric_errors,
    moved_terms,
    refit,
)
from rigright.verbs.calibrate.runs import Runs, files_beside, read_runs, taught
from rigright.verbs.calibrate.writing import write_tables

SUBJECTS = "rigright.verbs.calibrate.subjects"

Tell = Callable[[str], None]  # progress, a line at a time


def calibrate(
    subject: str | None = None, *, runs: Sequence[str] = (), write: bool = False, tell: Tell | None = None
) -> Calibrated:
    """Refit the tables of corrections (or one of them) from files of measured runs."""
    chosen = subjects(subject)
    read = [read_runs(file) for file in runs or files_beside()]
    done = []
    for one in chosen:
        mine = [file for file in read if file.kind == one.kind]
        if mine:
            done.append(_refitted(one, mine, write=write, tell=tell))
    if not done:
        raise DataError(
            say(
                "no file has runs of {kinds}; nothing was refitted",
                kinds=", ".join(sorted({one.kind for one in chosen})),
            )
        )
    faults = tuple(fault for file in read for fault in file.faults)
    return Calibrated(
        files=tuple(file.file for file in read), subjects=tuple(done), faults=faults, wrote=write
    )


def subjects(name: str | None = None) -> tuple[Subject, ...]:
    """Every subject of calibration, or the one that is named."""
    every: dict[str, Subject] = {one.name: one for one in shelf.load(SUBJECTS, "SUBJECT").values()}
    if name is None:
        return tuple(every.values())
    if name not in every:
        raise AskError(
            say('there is no subject "{name}"; there are: {there}', name=name, there=", ".join(every))
        )
    return (every[name],)


def _refitted(subject: Subject, files: Sequence[Runs], *, write: bool, tell: Tell | None) -> SubjectRefit:
    rows, faults = taught(subject, [row for file in files for row in file.rows])

    def progress(turn: int, left: float) -> None:
        if tell is not None:
            tell(f"{subject.name}: {turn}, {left:.6g}")

    done = refit(subject, rows, tables=corrections(subject.name), progress=progress)
    names = [file.file for file in files]
    return SubjectRefit(
        subject=subject.name,
        runs=len(rows),
        sources=len({key.get("source", "") for key in done.fitted.problem.keys}),
        moved=moved_terms(done.fitted),
        errors=metric_errors(done),
        bands=bands_made(done),
        wider=dict(done.bands["wider"]),
        held=held_by(done.held),
        faults=faults,
        written=write_tables(subject.name, done, files=names) if write else (),
    )
