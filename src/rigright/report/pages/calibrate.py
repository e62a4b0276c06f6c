"""The page of `calibrate --from`: what runs of the user's own shift."""

from __future__ import annotations

from collections.abc import Iterable

from rigright.base import telling
from rigright.base.page import Line, Page, Part, Points, Shown, number, table
from rigright.base.words import Sentence, say
from rigright.verbs.calibrate.calibrated import Anchored, AnchorMade

_MOST_FAULTS = 8
_ANCHORS = (
    say("chip"),
    say("engine"),
    say("figure"),
    number(say("runs")),
    number(say("measured")),
    number(say("correction")),
    number(say("other models")),
    number(say("band before")),
    number(say("band now")),
)


def page(result: Anchored) -> Page:
    """What own runs shift."""
    title = say("{file}: {runs} of your own runs", file=result.file, runs=result.runs)
    saved = say("saved in {file}: now used by plan, explain and validate", file=result.saved)
    anchors = table(_ANCHORS, (_anchor(anchor_made) for anchor_made in result.anchors))
    parts: list[Part] = [anchors, Line.good(saved)]
    parts.append(Line.dim(say("--anchors none ignores it; --anchors FILE uses another one")))
    return Page.of(title, *parts, *_faults(result.faults))


def _anchor(anchor: AnchorMade) -> tuple[Shown, ...]:
    return (
        anchor.chip or "-", anchor.engine or "-", anchor.figure, str(anchor.runs),
        f"{anchor.measured_ratio:.2f}x", f"{anchor.shift:.2f}x", f"{anchor.elsewhere:.2f}x",
        f"{anchor.low_before:.2f}-{anchor.high_before:.2f}", f"{anchor.low:.2f}-{anchor.high:.2f}",
    )  # fmt: skip


def _faults(faults: Iterable[Sentence]) -> list[Part]:
    sentences = tuple(faults)
    if not sentences:
        return []
    items: tuple[Shown, ...] = sentences[:_MOST_FAULTS]
    if len(sentences) > _MOST_FAULTS:
        items = (*items, say("and {count} more", count=len(sentences) - _MOST_FAULTS))
    return [Points.of(items, title=say("left out"), tone="warn")]


plain = telling.RecordPrinter(Anchored)
