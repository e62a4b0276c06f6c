"""What a calibration found: terms before and after, errors in sample and left out, bands."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTerm:
    """One term before and after; None: the table bears none of its own, its class's holds."""

    path: tuple[str, ...]
    before: float | None
    after: float | None
    runs: int  # that move it
    sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricErrors:
    """Median absolute errors of one metric, averaged over sources."""

    metric: str
    runs: int
    sources: int
    before: float
    after: float
    source_out: float | None
    chip_out: float | None
    model_out: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BandMade:
    """One band, as ratios of measured to predicted."""

    figure: str
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How many of the runs left out lie inside bands made without them, a group by the root of its runs."""

    by: str
    groups: int
    runs: int
    inside: float
    worst: str  # the group that is held least
    worst_inside: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRefit:
    """One table of corrections, refitted."""

    subject: str
    runs: int
    sources: int
    moved: tuple[MovedTerm, ...]
    errors: tuple[MetricErrors, ...]
    bands: tuple[BandMade, ...]
    wider: dict[str, float]
    held: tuple[Held, ...]
    faults: tuple[Sentence, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Every subject that was refitted."""

    files: tuple[str, ...]
    subjects: tuple[SubjectRefit, ...]
    faults: tuple[Sentence, ...] = ()  # cells that could not be read
    wrote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMade:
    """What runs of the user's own say of one figure of one chip in one engine."""

    subject: str
    chip: str
    engine: str
    figure: str
    runs: int
    measured_ratio: float  # measured over predicted, as the runs say
    shift: float  # as far as so many runs are believed
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
