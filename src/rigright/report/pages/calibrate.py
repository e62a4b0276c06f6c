"""The pages of `calibrate`: what moved, how far off figures are and were, what bands hold; own runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rigright.base.words import Sentence, say, tell
from rigright.report.calibrated import (
    Anchored,
    AnchorMade,
    Calibrated,
    MetricErrors,
    MovedTerm,
    SubjectRefit,
)
from rigright.report.page import Column, Commands, Line, Page, Part, Points, Shown, Table

MOST_TERMS = 30
MOST_FAULTS = 8
_MOVED = (
    Column(head=say("term"), flexible=True),
    Column(head=say("before"), right=True),
    Column(head=say("after"), right=True),
    Column(head=say("runs"), right=True),
    Column(head=say("sources"), right=True),
)
_ERRORS = (
    Column(head=say("metric"), flexible=True),
    Column(head=say("runs"), right=True),
    Column(head=say("sources"), right=True),
    Column(head=say("before"), right=True),
    Column(head=say("after"), right=True),
    Column(head=say("source left out"), right=True),
    Column(head=say("chip left out"), right=True),
    Column(head=say("model left out"), right=True),
)
_HELD = (
    Column(head=say("left out"), flexible=True),
    Column(head=say("groups"), right=True),
    Column(head=say("runs"), right=True),
    Column(head=say("in the band"), right=True),
    Column(head=say("held least"), flexible=True),
)
_ANCHORS = (
    Column(head=say("chip")),
    Column(head=say("engine")),
    Column(head=say("figure")),
    Column(head=say("runs"), right=True),
    Column(head=say("measured"), right=True),
    Column(head=say("moved by"), right=True),
    Column(head=say("band before"), right=True),
    Column(head=say("band now"), right=True),
)
_WAYS = {
    "source": say("source"), "chip": say("chip"), "class": say("class of chips"), "model": say("model"),
}  # fmt: skip


def page(result: Calibrated) -> Page:
    """What a refit found."""
    parts: list[Part] = []
    for one in result.subjects:
        parts += _subject(one)
    if not result.wrote:
        parts.append(Commands(title=say("to keep this"), items=("rigright calibrate --write",)))
    parts += _faults((*result.faults, *(fault for one in result.subjects for fault in one.faults)))
    return Page(
        title=say("Corrections refitted from {files}", files=", ".join(result.files)), parts=tuple(parts)
    )


def _subject(one: SubjectRefit) -> list[Part]:
    count = say(
        "{subject}: {runs} runs of {sources} sources move {terms} terms",
        subject=one.subject, runs=one.runs, sources=one.sources, terms=len(one.moved),
    )  # fmt: skip
    parts: list[Part] = [Line(said=count, tone="strong")]
    if one.moved:
        farthest = sorted(one.moved, key=_far, reverse=True)[:MOST_TERMS]
        rows = tuple(_moved(term) for term in sorted(farthest, key=lambda term: term.path))
        parts.append(Table(title=say("terms that moved most"), columns=_MOVED, rows=rows))
    errors = tuple(_errors(errors) for errors in one.errors)
    parts.append(Table(title=say("median error, averaged over sources"), columns=_ERRORS, rows=errors))
    held = tuple(
        (_WAYS[held.by], str(held.groups), str(held.runs), _percent(held.inside),
         f"{held.worst} ({_percent(held.worst_inside)})")
        for held in one.held
    )  # fmt: skip
    if held:
        parts.append(
            Table(title=say("80 % bands, held against what they never saw"), columns=_HELD, rows=held)
        )
    if one.written:
        parts.append(Line(said=say("written: {files}", files=", ".join(one.written)), tone="good"))
    return parts


def _moved(term: MovedTerm) -> tuple[Shown, ...]:
    as_class = say("as its class")
    before, after = (as_class if one is None else f"{one:.3g}" for one in (term.before, term.after))
    return (".".join(term.path), before, after, str(term.runs), str(term.sources))


def _far(term: MovedTerm) -> float:
    """How far a term moved; new and dropped ones stand between."""
    if term.before is None or term.after is None or min(term.before, term.after) <= 0:
        return 0.1
    return abs(math.log(term.after / term.before))


def _errors(one: MetricErrors) -> tuple[Shown, ...]:
    shares = (one.before, one.after, one.source_out, one.chip_out, one.model_out)
    return (one.metric, str(one.runs), str(one.sources), *map(_percent, shares))


def _percent(share: float | None) -> str:
    return "-" if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def _faults(faults: Iterable[Sentence]) -> list[Part]:
    told = tuple(faults)
    if not told:
        return []
    items: tuple[Shown, ...] = told[:MOST_FAULTS]
    if len(told) > MOST_FAULTS:
        items = (*items, say("and {count} more", count=len(told) - MOST_FAULTS))
    return [Points(title=say("left out"), items=items, tone="warn")]


def plain(result: Calibrated, language: str) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "files": list(result.files),
        "wrote": result.wrote,
        "subjects": [_plain_subject(one, language) for one in result.subjects],
        "faults": [tell(fault, language) for fault in result.faults],
    }


def _plain_subject(one: SubjectRefit, language: str) -> dict[str, Any]:
    return {
        "subject": one.subject,
        "runs": one.runs,
        "sources": one.sources,
        "moved": [asdict(term) | {"path": ".".join(term.path)} for term in one.moved],
        "median_errors": [asdict(errors) for errors in one.errors],
        "bands": [asdict(band) for band in one.bands],
        "wider": one.wider,
        "band_coverage": [asdict(held) for held in one.held],
        "written": list(one.written),
        "faults": [tell(fault, language) for fault in one.faults],
    }


def anchored_page(result: Anchored) -> Page:
    """What own runs shift."""
    title = say("{file}: runs of your own: {runs}", file=result.file, runs=result.runs)
    table = Table(columns=_ANCHORS, rows=tuple(_anchor(one) for one in result.anchors))
    saved = say("saved in {file}: plan, explain and validate take it from now on", file=result.saved)
    parts: list[Part] = [table, Line(said=saved, tone="good")]
    parts.append(Line(said=say("--anchors none leaves it out; --anchors FILE takes another"), tone="dim"))
    return Page(title=title, parts=(*parts, *_faults(result.faults)))


def _anchor(one: AnchorMade) -> tuple[Shown, ...]:
    return (
        one.chip, one.engine or "-", one.figure, str(one.runs),
        f"{one.measured_ratio:.2f}x", f"{one.shift:.2f}x",
        f"{one.low_before:.2f}-{one.high_before:.2f}", f"{one.low:.2f}-{one.high:.2f}",
    )  # fmt: skip


def anchored_plain(result: Anchored, language: str) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "file": result.file,
        "runs": result.runs,
        "saved": result.saved,
        "anchors": [asdict(one) for one in result.anchors],
        "faults": [tell(fault, language) for fault in result.faults],
    }
