"""80 % bands: how far a predicted figure may be off, wider where less of its kind was measured.

Errors have levels: run, source, chip, engine, model. A band includes each level that was not measured:
variances add in logarithms, and `low` and `high` say how many standard deviations hold four of five runs.
All of it comes from runs left out of the fit (`lab/`). Everything is a number or an array with one entry
per plan. Memory of inference is a sum: each part is as certain as runs show, and parts add as independent
errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from rigright.base.record import dataclass, kept
from rigright.cost.estimate import Estimate
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NOTHING, TRAVELLED, Known
from rigright.demand import Numbers

EDGE = 1.2816  # standard deviations from the middle to the edge of an 80 % band, were errors normal
LEVELS = ("within", "source", "chip", "class", "kin", "elsewhere", "engine", "model", "kind")
BY_HAND = {  # deviations, as logarithms, of a level that no run tells of
    "within": 0.3, "source": 0.2,
    "chip": 0.1, "class": 0.12, "kin": 0.3,  # the chip was not measured; nor its class; nor its kin
    "elsewhere": 0.12, "engine": 0.3,  # the engine was measured on few others; on none
    "model": 0.05, "kind": 0.15,
}  # fmt: skip
UNTESTED: Mapping[str, float] = {**BY_HAND, "low": -EDGE, "high": EDGE}  # physics alone
FIGURES = {  # as run files and plans name them -> as bands are stated
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


def band(metric: str, *, known: Known) -> tuple[Numbers, Numbers]:
    """Low and high as ratios to the predicted figure; never narrower where less is known."""
    return _band(known, metric)


@kept
def _band(known: Known, metric: str) -> tuple[Numbers, Numbers]:
    terms = terms_in(known.bands, figure_of(metric))
    width = deviation(terms, known=known) * _of(known.narrow, metric)
    return np.exp(terms["low"] * width), np.exp(terms["high"] * width)


def banded(metric: str, *, value: Numbers, known: Known) -> Banded:
    """A predicted figure with its band, moved to where the user's own runs put it."""
    low, high = band(metric, known=known)
    moved = value * _of(known.shift, metric)
    return Banded(value=moved, low=moved * low, high=moved * high)


def estimate(metric: str, *, value: float, known: Known) -> Estimate:
    """The same of a single figure, as a record."""
    result = banded(metric, value=value, known=known)
    return Estimate(
        value=float(result.value),
        low=float(result.low),
        high=float(result.high),
        mark=mark(metric, known=known),
    )


def mark(metric: str, *, known: Known) -> str:
    """How a figure is known: by the user's own runs, by terms fitted on the like, or by physics alone."""
    if known.narrow and np.any(_of(known.narrow, metric) < 1):
        return "measured"
    return "fitted" if known.bands and np.all(known.chip > NOTHING) else "physics"


def deviation(terms: Mapping[str, float], *, known: Known) -> Numbers:
    """Of an error, as a logarithm: every level that was not measured adds its variance."""
    missing = {
        "within": True,
        "source": np.logical_not(known.source),
        "chip": known.chip < CHIP,
        "class": known.chip < CLASS,
        "kin": known.chip < KIN,
        "elsewhere": known.engine < TRAVELLED,
        "engine": known.engine < ELSEWHERE,
        "model": np.logical_not(known.model),
        "kind": np.logical_not(known.kind),
    }
    return np.sqrt(sum(missing[name] * terms[name] ** 2 for name in LEVELS))


def beyond(metric: str, *, edges: tuple[float, float], known: Known) -> tuple[float, float]:
    """A band of a few published runs, as ratios, wider by what was not measured of the chip.

    Such runs are strangers' already: who measured, what and with what are in their spread.
    """
    terms = terms_in(known.bands, figure_of(metric))
    whole, least = (float(deviation(terms, known=item)) for item in (Known(chip=known.chip), Known()))
    low, high = (float(np.hypot(np.log(edge), EDGE * np.sqrt(whole**2 - least**2))) for edge in edges)
    return float(np.exp(-low)), float(np.exp(high))


def shared_part(metric: str, *, known: Known) -> float:
    """Of squared errors, what runs of one place share: one of them tells of the others."""
    terms = terms_in(known.bands, figure_of(metric))
    return float(1 - terms["within"] ** 2 / deviation(terms, known=known) ** 2)


def terms_in(bands: Mapping[str, Mapping[str, float]], figure: str) -> Mapping[str, float]:
    """The terms of a figure, else of what it is a kind of, else of all others, else of none tested."""
    names = (figure, figure.partition(",")[0], "other")
    return next((bands[name] for name in names if name in bands), UNTESTED)


def _of(fields: Mapping[str, Numbers], metric: str) -> Numbers:
    return fields.get(figure_of(metric).partition(",")[0], 1.0) if fields else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a figure is made of, in bytes."""

    counted: Numbers = 0.0  # weights, caches, states and rotary tables
    step: Numbers = 0.0  # activations and logits
    libraries: Numbers = 0.0
    graphs: Numbers = 0.0
    beside: Numbers = 0.0  # contexts, collectives, fragments
    loading: Numbers = 0.0  # what copies of a loading may leave, whatever the model's size
    mixed: Numbers = 0.0  # what files of a format differ by, half of it
    narrow: Numbers = 1.0  # no bytes: how much of the band of what is not counted own starts leave


SIZES = tuple(field.name for field in fields(Parts) if field.name != "narrow")
COUNTED = frozenset({"counted", "mixed"})


def summed_band(
    value: Numbers, *, parts: Parts, edges: Mapping[str, tuple[float, float]], wider: float
) -> tuple[Numbers, Numbers]:
    """Low and high of a value that is the sum of its parts, by the edges of each.

    `wider`: where its like was not measured.
    """
    below = above = np.asarray(parts.mixed, dtype=float) ** 2
    for name in SIZES:
        low, high = edges.get(name, (1.0, 1.0))
        size = np.asarray(getattr(parts, name), dtype=float)
        sure = wider * (1.0 if name in COUNTED else np.asarray(parts.narrow))
        below = below + ((1 - low**sure) * size) ** 2
        above = above + ((high**sure - 1) * size) ** 2
    return value - np.sqrt(below), value + np.sqrt(above)
