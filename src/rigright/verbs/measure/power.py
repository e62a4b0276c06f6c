"""A card's power held against a plan: its own figure is at the wall, its law knows the part of the cards."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.errors import RigError
from rigright.base.words import Sentence, say
from rigright.cost.power import Draw, draw_w
from rigright.facts.chips import Chip, by_id
from rigright.facts.find import find_chips
from rigright.search.figures import PHASES
from rigright.terms.fitted import busy_in, power_terms
from rigright.verbs.measure.measured import Measured, PlannedFigure

METER = 0.05  # of a reading: as near as NVIDIA's manual says its meters are


def power_beside_plan(measured: Measured, *, chip: object, work: object) -> Iterator[PlannedFigure]:
    """What a card drew while it worked, and at most; nothing where other cards were used than planned."""
    result = by_id().get(chip) if isinstance(chip, str) else None
    phase = PHASES.get(work) if isinstance(work, str) else None
    if result is None or result.tdp_w is None or phase is None or not measured.working_w:
        return
    if not all(_is(name, result) for name in measured.chips):
        return
    drawn = draw_w(power_terms((result,)), busy_in(phase))
    yield _power_figure(drawn, sum(watts for _, watts in measured.working_w) / len(measured.working_w))
    # the most that any card drew at one moment
    peaks = (course.peak for course in measured.courses if course.unit == "w")
    peak = max(peaks, default=None)
    if peak is not None:
        yield PlannedFigure(
            name="peak power",
            label=say("peak power per GPU vs rating"),
            unit="w",
            planned=result.tdp_w,
            low=float(drawn.low[0]),
            high=result.tdp_w * (1 + METER),
            measured=peak,
        )


def why_no_power(measured: Measured) -> Sentence:
    """What was missing for it."""
    if any(course.unit == "w" for course in measured.courses) and not measured.working_w:
        return say("power not compared with the plan: no GPU was busy long enough")
    if not measured.working_w:
        return say("power not compared with the plan: not reported by the driver")
    return say("power not compared with the plan: different GPUs than planned")


def _power_figure(drawn: Draw, watts: float) -> PlannedFigure:
    return PlannedFigure(
        name="power",
        label=say("power per GPU under load"),
        unit="w",
        planned=float(drawn.value[0]),
        low=float(drawn.low[0]),
        high=float(drawn.high[0]),
        measured=watts,
    )


def _is(name: str, chip: Chip) -> bool:
    """Whether a driver's name may mean this chip."""
    try:
        return any(find_chip.id == chip.id for find_chip in find_chips(name))
    except RigError:
        return False
