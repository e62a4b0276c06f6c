"""The part of the page of `explain --train` that tells of time: step, parts, rates, what limits it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rigright.base.units import GIGA, show_count, show_seconds
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.report.page import Column, Line, Part, Table, Tone
from rigright.report.trained import StepUse

NAMES = {
    "forward": say("forward pass"),
    "backward": say("backward pass"),
    "recompute": say("recomputed and reference passes"),
    "optimizer": say("optimizer"),
    "tp": say("tensor parallel, not hidden"),
    "dp": say("gradients and weights of replicas, not hidden"),
    "pp": say("from stage to stage"),
    "ep": say("tokens to experts, not hidden"),
    "cp": say("context parallel, not hidden"),
    "bubble": say("waiting for other stages and ranks"),
    "host": say("waiting for the host"),
}
BOUNDS = {
    "compute": say("computing takes most of a step"),
    "links": say("waiting for links takes most of a step"),
    "bubble": say("pipeline stages that wait take most of a step"),
    "host": say("the host is slower than the cards: larger micro-batches help"),
    "optimizer": say("the optimizer takes most of a step: gather more micro-batches"),
}


def speed_line(step: StepUse) -> Line:
    """The verdict on speed."""
    rate = step.tok_per_s_per_chip
    return Line(
        said=say(
            "{speed} tokens/s in all, {chip} a card ({low} to {high}); a step takes {step}; MFU {mfu}",
            speed=f"{step.tok_per_s:,.0f}",
            chip=f"{rate.value:,.0f}",
            low=f"{rate.low:,.0f}",
            high=f"{rate.high:,.0f}",
            step=show_seconds(step.step_s.value),
            mfu=f"{step.mfu:.1%}",
        ),
        tone="strong",
    )


def time_table(step: StepUse) -> Part:
    """Where the time of a step goes."""
    rows = tuple(
        (NAMES[name], show_seconds(seconds), f"{seconds / step.step_s.value:.0%}")
        for name, seconds in step.parts_s
    )
    total = (
        say("a step of {tokens} tokens", tokens=show_count(round(step.tok_per_step))),
        _range(step.step_s),
        "100%",
    )
    tones: list[Tone] = ["plain" for _ in rows]
    columns = (
        Column(head=say("part")),
        Column(head=say("time"), right=True),
        Column(head=say("share"), right=True),
    )
    return Table(
        columns=columns,
        rows=(*rows, total),
        title=say("time of one step"),
        tones=(*tones, "strong"),
    )


def speed_facts(step: StepUse) -> Iterator[Sentence]:
    """What limits it, and how long a billion tokens take."""
    yield BOUNDS[step.bound]
    yield say(
        "MFU {mfu} counts the model's own arithmetic; with what is recomputed, HFU {hfu}",
        mfu=f"{step.mfu:.1%}",
        hfu=f"{step.hfu:.1%}",
    )
    yield say("a billion tokens take {time}", time=show_seconds(GIGA / step.tok_per_s))


def _range(seconds: Estimate) -> str:
    return f"{show_seconds(seconds.value)} ({show_seconds(seconds.low)}-{show_seconds(seconds.high)})"


def plain_step(step: StepUse | None) -> dict[str, Any] | None:
    """The same for scripts."""
    if step is None:
        return None
    return {
        "step_s": _plain(step.step_s),
        "parts_s": {name: float(f"{seconds:.6g}") for name, seconds in step.parts_s},
        "tok_per_s": float(f"{step.tok_per_s:.6g}"),
        "tok_per_s_per_chip": _plain(step.tok_per_s_per_chip),
        "samples_per_s": float(f"{step.samples_per_s:.6g}"),
        "tok_per_step": round(step.tok_per_step),
        "mfu": round(step.mfu, 4),
        "hfu": round(step.hfu, 4),
        "bound": step.bound,
    }


def _plain(one: Estimate) -> dict[str, Any]:
    figures = {"value": one.value, "low": one.low, "high": one.high}
    return {name: float(f"{figure:.6g}") for name, figure in figures.items()} | {"mark": one.mark}
