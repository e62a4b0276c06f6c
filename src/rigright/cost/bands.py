"""How far a predicted figure may be off: 80 % bands, wider the less of its like was measured.

A band is told as two ratios, measured over predicted. It comes from runs whose source no fit had seen;
where also the chip, its class, the engine or the kind of model was not measured, it is as much wider
as runs of chips and models left out asked for. Everything is a number or an array, one entry a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.estimate import Estimate
from rigright.cost.known import NOTHING, Known, bands_of
from rigright.demand import Numbers

UNTESTED = {"low": 0.4, "high": 2.5}  # a figure that no run ever tested: physics alone
WIDER = {  # where no run told: set by hand
    "class": 1.3, "kin": 1.4, "nothing": 1.6,  # the chip was not measured, others of its class, its kin, none
    "elsewhere": 1.4, "engine": 1.6,  # the engine was measured on few others, on none
    "kind": 1.2,
}  # fmt: skip
CHIPS = ("class", "kin", "nothing")  # each says less than the one before
ENGINES = ("elsewhere", "engine")
FIGURES = {  # as run files and plans name them -> as bands are told
    "ttft_ms": "ttft", "ttft_s": "ttft",
    "tpot_ms": "tpot", "tpot_s": "tpot",
    "decode_tok_s_per_user": "decode",
    "prefill_tok_s": "prefill",
    "output_tok_s_total": "output", "output_tok_per_s": "output", "requests_per_s": "output",
    "total_tok_s": "output",
    "latency_ms": "latency", "latency_s": "latency",
    "tok_per_s_per_chip": "train", "train_tok_per_s": "train",
    "samples_per_s": "samples", "images_per_s": "samples",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Banded:
    """A figure with low and high, where the user's own runs put it."""

    value: Numbers
    low: Numbers
    high: Numbers


def figure_of(metric: str, *, split: bool = False) -> str:
    """The figure that a metric of a run or of a plan is.

    "ttft, split" is that of prompts worked on by machines of their own, whose handing over nobody publishes.
    """
    figure = FIGURES.get(metric, metric)
    return f"{figure}, split" if split else figure


def band(subject: str, metric: str, *, known: Known) -> tuple[Numbers, Numbers]:
    """Low and high as ratios to the predicted figure; never narrower where less is known."""
    edges = edges_in(bands_of(subject).get("bands", {}), figure_of(metric))
    width = widening(bands_of(subject).get("wider", {}), known=known) * _of(known.narrow, metric)
    return np.exp(np.log(edges["low"]) * width), np.exp(np.log(edges["high"]) * width)


def banded(subject: str, metric: str, *, value: Numbers, known: Known) -> Banded:
    """A predicted figure with its band, moved to where the user's own runs put it."""
    low, high = band(subject, metric, known=known)
    moved = value * _of(known.shift, metric)
    return Banded(value=moved, low=moved * low, high=moved * high)


def estimate(subject: str, metric: str, *, value: float, known: Known) -> Estimate:
    """The same of a single figure, as a record."""
    found = banded(subject, metric, value=value, known=known)
    return Estimate(
        value=float(found.value),
        low=float(found.low),
        high=float(found.high),
        mark=mark(subject, metric, known=known),
    )


def mark(subject: str, metric: str, *, known: Known) -> str:
    """How a figure is known: by the user's own runs, by terms fitted on the like, or by physics alone."""
    if np.any(_of(known.narrow, metric) < 1):
        return "measured"
    return "fitted" if bands_of(subject) and np.all(known.chip > NOTHING) else "physics"


def widening(wider: Mapping[str, float], *, known: Known) -> Numbers:
    """How much wider a band is for what was not measured; 1 where all was."""
    told = WIDER | dict(wider)
    chips, engines = (_ladder([told[name] for name in names]) for names in (CHIPS, ENGINES))
    kind = np.where(known.kind, 1.0, told["kind"])
    return np.take(chips, known.chip) * np.take(engines, known.engine) * kind


def _ladder(steps: Sequence[float]) -> Numbers:
    """Factors from what least is known of up to what was measured, none narrower for knowing less."""
    return np.maximum.accumulate([1.0, *steps])[::-1]


def edges_in(bands: Mapping[str, Mapping[str, float]], figure: str) -> Mapping[str, float]:
    """The band of a figure, else of what it is a kind of, else of all others, else of none tested."""
    names = (figure, figure.partition(",")[0], "other")
    return next((bands[name] for name in names if name in bands), UNTESTED)


def _of(told: Mapping[str, Numbers], metric: str) -> Numbers:
    return told.get(figure_of(metric).partition(",")[0], 1.0)
