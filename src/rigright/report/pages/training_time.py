"""The time of a training step: parts, rates, what limits it."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.page import Part, Shown, Tone, number, table
from rigright.base.units import GIGA, show_count, show_seconds, show_short
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.predict.trained_step import StepUse

HOUR_S = 3600
NAMES = {
    "forward": say("forward pass"),
    "backward": say("backward pass"),
    "recompute": say("recomputation and reference passes"),
    "optimizer": say("optimizer"),
    "tp": say("tensor parallel, exposed"),
    "dp": say("data parallel, exposed"),
    "pp": say("pipeline transfers"),
    "ep": say("expert parallel, exposed"),
    "cp": say("context parallel, exposed"),
    "bubble": say("pipeline bubble and stragglers"),
    "host": say("CPU launch overhead"),
}
BOUNDS = {
    "compute": say("limited by compute"),
    "links": say("limited by the interconnect"),
    "bubble": say("limited by the pipeline bubble"),
    "host": say("limited by CPU launches: use larger micro-batches"),
    "optimizer": say("limited by the optimizer: accumulate more micro-batches"),
}


def step_rows(step: StepUse) -> Iterator[tuple[Shown, ...]]:
    """What a person wants of a step, with its band."""
    known = step.step_s
    yield say("step, s"), show_short(known.value), f"{show_short(known.low)}-{show_short(known.high)}"
    rate = step.tok_per_s_per_chip
    yield say("tok/s per GPU"), show_short(rate.value), f"{show_short(rate.low)}-{show_short(rate.high)}"
    yield say("MFU, %"), show_short(100 * step.mfu), ""
    yield say("1B tokens, hours"), show_short(GIGA / step.tok_per_s / HOUR_S), ""


def time_table(step: StepUse) -> Part:
    """Where the time of a step goes."""
    rows = tuple(
        (NAMES[name], show_seconds(seconds), f"{seconds / step.step_s.value:.0%}")
        for name, seconds in step.parts_s
    )
    total = (
        say("one step, {tokens} tokens", tokens=show_count(round(step.tok_per_step))),
        _range(step.step_s),
        "100%",
    )
    tones: list[Tone] = ["plain" for _ in rows]
    columns = (say("part"), number(say("time")), number(say("share")))
    return table(columns, (*rows, total), title=say("time of one step"), tones=(*tones, "strong"))


def speed_facts(step: StepUse) -> Iterator[Sentence]:
    """What limits it, and how long a billion tokens take."""
    yield BOUNDS[step.bound]
    yield say(
        "MFU {mfu}; HFU {hfu} with recomputation",
        mfu=f"{step.mfu:.1%}",
        hfu=f"{step.hfu:.1%}",
    )
    yield say("1B tokens take {time}", time=show_seconds(GIGA / step.tok_per_s))


def _range(seconds: Estimate) -> str:
    return f"{show_seconds(seconds.value)} ({show_seconds(seconds.low)}-{show_seconds(seconds.high)})"
