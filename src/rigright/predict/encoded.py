"""Texts that an encoder reads whole: seconds of a batch and texts a second, with their band.

`explain`, `plan`, a row of a table of runs and the laboratory ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.cost.bands import band, mark
from rigright.cost.estimate import Estimate, spread
from rigright.cost.known import ran
from rigright.cost.speed.encoder import SUBJECT, EncoderRates, encode_s, encoder_rates
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.predict.images import BatchTime
from rigright.terms.fitted import fitted
from rigright.terms.known import known_of_one

HALF = frozenset({"16bit", "bf16"})  # what computes as 16 bit do


def encoded_rates(
    chips: Sequence[Chip], engine: str, *, precision: str, tables: Mapping[str, Any] | None = None
) -> EncoderRates:
    """What chips reach in an engine, one entry a chip. `tables`: other terms than ours."""
    plain = "fp16" if precision in HALF else precision
    return encoder_rates(chips, engine, precision=plain, tables=fitted(SUBJECT, tables))


def encoded_s(
    arch: Arch, rates: EncoderRates, *, samples: Numbers, tok: Numbers, filled: Numbers = 1.0
) -> Numbers:
    """Seconds of a batch of one card; `tok`: of the longest, `filled`: the share that is no padding."""
    return encode_s(arch, rates, samples=samples, length_tok=tok, filled=filled)


def encoded_time(arch: Arch, rates: EncoderRates, *, samples: Numbers, tok: Numbers) -> BatchTime:
    """The same by its parts: a part alone is what is left where the others cost nothing."""
    still = {"layer_s": 0.0, "host_layer_s": 0.0}
    endless = {"flops_per_s": np.inf, "attention_flops_per_s": np.inf}
    light = {"act_s": 0.0, "score_s": 0.0}

    def time(**changes: float) -> Numbers:
        return encoded_s(arch, replace(rates, **changes), samples=samples, tok=tok)

    return BatchTime(
        total_s=time(),
        compute_s=time(**light, **still),
        memory_s=time(**endless, **still),
        fixed_s=time(**endless, **light),
    )


def texts_with_band(rate: float, *, arch: Arch, engine: str, chip: Chip, source: str = "") -> Estimate:
    """Texts a second with their band; `source`: who measured them."""
    known = known_of_one(SUBJECT, chip, what=ran(arch, engine=engine, source=source))
    low, high = (1 / edge for edge in reversed(band("latency_ms", known=known)))
    own = rate / float(known.shift.get("latency", 1.0))
    return spread(own, (float(low), float(high)), mark=mark("latency_ms", known=known))
