"""Texts that an encoder reads whole: seconds of a batch and texts a second, with their band.

`explain`, `plan`, a row of a table of runs and the laboratory ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.cost.bands import band, mark
from rigright.cost.estimate import Estimate, spread
from rigright.cost.known import known_of_one, ran
from rigright.cost.speed.encoder import SUBJECT, EncoderRates, encode_s, encoder_rates
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.predict.images import BatchTime

HALF = frozenset({"16bit", "bf16"})  # what computes as 16 bit do


def encoded_rates(
    chips: Sequence[Chip], engine: str, *, precision: str, tables: Mapping[str, Any] | None = None
) -> EncoderRates:
    """What chips reach in an engine, one entry a chip. `tables`: other terms than ours."""
    plain = "fp16" if precision in HALF else precision
    return encoder_rates(chips, engine, precision=plain, tables=tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """A batch of one card."""

    samples: Numbers
    tok: Numbers  # of the longest
    filled: Numbers = 1.0  # share of tokens that are no padding, where padding costs nothing


def encoded_s(arch: Arch, rates: EncoderRates, *, texts: Texts) -> Numbers:
    """Seconds of the batch."""
    return encode_s(arch, rates, samples=texts.samples, length_tok=texts.tok, filled=texts.filled)


def encoded_time(arch: Arch, rates: EncoderRates, *, texts: Texts) -> BatchTime:
    """The same by its parts: a part alone is what is left where the others cost nothing."""
    free = {"act_s": 0.0, "score_s": 0.0, "layer_s": 0.0, "host_layer_s": 0.0}
    endless = {"flops_per_s": np.inf, "attention_flops_per_s": np.inf}
    moving = {"layer_s": 0.0, "host_layer_s": 0.0}
    starting = {"act_s": 0.0, "score_s": 0.0}

    def time(**changes: float) -> Numbers:
        return encoded_s(arch, replace(rates, **changes), texts=texts)

    return BatchTime(
        total_s=time(),
        compute_s=time(**free),
        memory_s=time(**endless, **moving),
        fixed_s=time(**endless, **starting),
    )


def texts_told(rate: float, *, arch: Arch, engine: str, chip: Chip, source: str = "") -> Estimate:
    """Texts a second with their band; `source`: who measured them."""
    known = known_of_one(SUBJECT, chip, what=ran(arch, engine=engine, source=source))
    low, high = (1 / edge for edge in reversed(band(SUBJECT, "latency_ms", known=known)))
    own = rate / float(known.shift.get("latency", 1.0))
    return spread(own, (float(low), float(high)), mark=mark(SUBJECT, "latency_ms", known=known))
