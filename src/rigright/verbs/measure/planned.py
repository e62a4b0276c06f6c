"""What was measured beside a plan's figures."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.verbs.measure.measured import Measured, PlannedFigure
from rigright.verbs.measure.power import power_beside_plan, why_no_power
from rigright.verbs.runs.planned import PlannedRun

_SPEEDS = ("output_tok_per_s", "train_tok_per_s")


def hold(measured: Measured, planned: PlannedRun) -> tuple[PlannedFigure, ...]:
    """Memory of the fullest card, its power, and speed where the user said how many tokens it was."""
    each: list[PlannedFigure] = []
    memory = planned.device_bytes()
    if memory is not None and measured.gpu_peak_bytes:
        peak = max(size for _, size in measured.gpu_peak_bytes)
        each.append(
            PlannedFigure(
                name="memory",
                label=say("memory of the fullest GPU"),
                unit="bytes",
                planned=memory[0],
                low=memory[1],
                high=memory[2],
                measured=peak,
            )
        )
    speed = next((row for row in map(planned.figure, _SPEEDS) if row is not None), None)
    if speed is not None and measured.tokens:
        each.append(
            PlannedFigure(
                name="speed",
                label=say("tokens/s, including start-up and shutdown"),
                unit="tok_per_s",
                planned=speed[0],
                low=speed[1],
                high=speed[2],
                measured=measured.tokens / measured.lasted_s,
            )
        )
    each.extend(power_beside_plan(measured, chip=planned.plan.get("chip"), work=planned.wish.get("work")))
    return tuple(each)


def power_notes(measured: Measured, planned: PlannedRun) -> Iterator[Sentence]:
    """Why power is not held against a plan that has it."""
    if planned.figure("power_w") is None or any(figure.name == "power" for figure in measured.held):
        return
    if not measured.chips:
        return
    yield why_no_power(measured)
