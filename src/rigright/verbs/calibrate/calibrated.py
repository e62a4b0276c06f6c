"""What `calibrate --from` made of runs of the user's own."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMade:
    """What runs of the user's own say of one figure of one chip in one engine."""

    subject: str
    chip: str
    engine: str
    figure: str
    runs: int
    measured_ratio: float  # measured over predicted, as the runs say
    shift: float  # of the cases that were measured, as far as so many runs are believed
    elsewhere: float  # of other models
    narrow: float  # of the band's width, what is left
    low_before: float
    high_before: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """Every anchor made from a file of own runs."""

    file: str
    runs: int
    anchors: tuple[AnchorMade, ...]
    saved: str
    faults: tuple[Sentence, ...] = ()
