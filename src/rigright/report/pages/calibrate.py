"""The page of `calibrate --from`: what runs of the user's own shift."""

from __future__ import annotations

from rigright.base import telling
from rigright.base.page import Line, Page, Points, number, records
from rigright.base.words import say
from rigright.verbs.calibrate.verb import Anchored

_MOST_FAULTS = 8


def page(result: Anchored) -> Page:
    """What own runs shift."""
    anchors = records(
        result.anchors,
        (
            (say("chip"), lambda anchor: anchor.chip or "-"),
            (say("engine"), lambda anchor: anchor.engine or "-"),
            (say("figure"), lambda anchor: anchor.figure),
            (number(say("runs")), lambda anchor: str(anchor.runs)),
            (number(say("measured")), lambda anchor: f"{anchor.measured_ratio:.2f}x"),
            (number(say("correction")), lambda anchor: f"{anchor.shift:.2f}x"),
            (number(say("other models")), lambda anchor: f"{anchor.elsewhere:.2f}x"),
            (number(say("band before")), lambda anchor: f"{anchor.low_before:.2f}-{anchor.high_before:.2f}"),
            (number(say("band now")), lambda anchor: f"{anchor.low:.2f}-{anchor.high:.2f}"),
        ),
    )
    return Page.of(
        say("{file}: {runs} of your own runs", file=result.file, runs=result.runs),
        anchors,
        Line.good(say("saved in {file}: now used by plan, explain and validate", file=result.saved)),
        Line.dim(say("--anchors none ignores it; --anchors FILE uses another one")),
        Points.of(result.faults, title=say("left out"), tone="warn", most=_MOST_FAULTS),
    )


plain = telling.RecordPrinter(Anchored)
