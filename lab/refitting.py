"""Refits tables of corrections from measured runs, says what moved, and writes when asked."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence

from lab.record import LabError, Subject
from lab.refit import MovedTerm, Refit, coverage_by, metric_errors, moved_terms, refit
from lab.runs import Runs, files_beside, read_runs, taught
from lab.writing import write_tables
from rigright.base import shelf
from rigright.facts.corrections import corrections

SUBJECTS = "lab.subjects"
MOST_TERMS = 30  # that are shown


def subjects(names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Every subject, or those that are named."""
    every: dict[str, Subject] = {value.name: value for value in shelf.load(SUBJECTS, "SUBJECT").values()}
    unknown = [name for name in names if name not in every]
    if unknown:
        raise LabError(f'no subject "{unknown[0]}"; there are: {", ".join(every)}')
    return tuple(subject for name, subject in every.items() if not names or name in names)


def refitted(
    names: Sequence[str] = (), *, files: Sequence[str] = (), still: bool = False
) -> Iterator[tuple[Subject, Refit, tuple[str, ...]]]:
    """Each subject refitted (or, `still`, left out around its terms), and the files that taught it."""
    read = [read_runs(file) for file in files or files_beside()]
    for subject in subjects(names):
        mine = [file for file in read if file.kind in {subject.kind, *subject.also}]
        if mine:
            yield subject, one_refit(subject, mine, still=still), tuple(file.file for file in mine)


def one_refit(subject: Subject, files: Sequence[Runs], *, still: bool = False) -> Refit:
    """One subject; rows that cannot be read are stated on stderr."""
    rows, faults = taught(subject, [row for file in files for row in file.rows])
    for fault in faults[:10]:
        sys.stderr.write(f"{subject.name}: left out: {fault}\n")
    return refit(subject, rows, tables=corrections(subject.table or subject.name), still=still)


def report(subject: Subject, done: Refit) -> Iterator[str]:
    """What a refit found, line by line."""
    moved = moved_terms(done.fitted)
    keys = done.fitted.problem.keys
    sources = len({key.get("source", "") for key in keys})
    yield f"{subject.name}: {len(keys)} runs of {sources} sources move {len(moved)} terms"
    farthest = sorted(moved, key=_far, reverse=True)[:MOST_TERMS]
    for term in sorted(farthest, key=lambda term: term.path):
        before, after = (
            "as its class" if value is None else f"{value:.3g}" for value in (term.before, term.after)
        )
        yield f"  {'.'.join(term.path)}: {before} -> {after} ({term.runs} runs, {term.sources} sources)"
    for score in metric_errors(done):
        ways = (
            score.before,
            score.after,
            score.source_out,
            score.chip_out,
            score.model_out,
        )
        shown = ", ".join("-" if way is None or math.isnan(way) else f"{way:.1%}" for way in ways)
        yield f"  {score.metric}: {score.runs} runs; before, after, source, chip, model out: {shown}"
    for kept in coverage_by(done.coverages):
        yield (
            f"  bands, {kept.by} left out: high/low {kept.width:.2f}, hold {kept.inside:.0%} of {kept.runs} "
            f"runs in {kept.groups} groups; least: {kept.worst} ({kept.worst_inside:.0%})"
        )


def keep(subject: Subject, done: Refit, *, files: Sequence[str]) -> tuple[str, ...]:
    """Write the terms and the bands."""
    return write_tables(subject, done, files=files)


def _far(term: MovedTerm) -> float:
    """How far a term moved; new and dropped ones stand between."""
    if term.before is None or term.after is None or min(term.before, term.after) <= 0:
        return 0.1
    return abs(math.log(term.after / term.before))
