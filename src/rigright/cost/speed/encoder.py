"""Time of a batch through an encoder: full attention, no cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from rigright.arch.count import flops_per_pair, flops_per_tok
from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.demand import Numbers
from rigright.facts.chips import Chip
from rigright.facts.formats import BITS

SUBJECT = "speed_streams"
WIDTH = {"fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "int8": 16, "fp8": 16}  # bits of activations


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRates:
    """What chips reach with an encoder in one precision; each an array with one entry a chip."""

    flops_per_s: Numbers
    half_tok: Numbers  # tokens at which a multiplication reaches half its rate
    attention_flops_per_s: Numbers
    act_s: Numbers  # outside multiplications, for a number that a token carries through a layer
    score_s: Numbers  # for a score of one token against another
    layer_s: Numbers
    host_layer_s: Numbers  # the host's own time, beside which the chip works


def encoder_rates(
    chips: Sequence[Chip], engine: str, *, precision: str, tables: Mapping[str, Any]
) -> EncoderRates:
    """The rates of chips, in their order; an engine without terms of its own goes by everybody's."""
    own = tables["encoders"]
    tables_in_use = (own["plain"], own.get(engine, {}))
    figures = [
        _figures(chip, _terms(tables_in_use, chip, precision=precision), precision=precision)
        for chip in chips
    ]
    return EncoderRates(
        **{each.name: np.array([figure[each.name] for figure in figures]) for each in fields(EncoderRates)}
    )


def encode_s(
    arch: Arch, rates: EncoderRates, *, samples: Numbers, length_tok: Numbers, filled: Numbers = 1.0
) -> Numbers:
    """Seconds for a batch; `filled`: share of the tokens that are no padding, where padding costs nothing."""
    trunk = arch.trunk
    layers = len(trunk.layers)
    tok = samples * length_tok * filled
    pairs = tok * length_tok * filled
    mixers = [layer.mixer for layer in trunk.layers if layer.mixer is not None]
    chip_s = (
        flops_per_tok(trunk) * (tok + rates.half_tok) / rates.flops_per_s
        + sum(map(flops_per_pair, mixers)) * pairs / rates.attention_flops_per_s
        + sum(mixer.heads for mixer in mixers) * pairs * rates.score_s
        + layers * trunk.hidden * tok * rates.act_s
        + layers * rates.layer_s
    )
    return np.maximum(chip_s, layers * rates.host_layer_s)


def _terms(tables: Sequence[Mapping[str, Any]], chip: Chip, *, precision: str) -> dict[str, float]:
    merged: dict[str, float] = {}
    for own in tables:
        merged |= chip.terms_in(own) | own.get("formats", {}).get(precision, {})
    return merged


def _figures(chip: Chip, terms: Mapping[str, float], *, precision: str) -> dict[str, float]:
    per_flop_s = 1 / (_peak_flops_per_s(chip, precision) * terms["compute"])
    if chip.tdp_w:
        # operations of a precision that the power for one of 16 bit pays for
        plain = chip.plain_flops_per_s or np.nan
        per_flop_s += 1 / (
            chip.tdp_w * terms["flops_per_joule"] * float(_peak_flops_per_s(chip, precision) / plain)
        )
    width = WIDTH.get(precision, 16) / BITS
    return {
        "flops_per_s": 1 / per_flop_s,
        "half_tok": terms["half_tok"],
        "attention_flops_per_s": terms["attention"] / per_flop_s,
        "act_s": terms["act_passes"] * width / chip.mem_bytes_per_s,
        "score_s": terms["score_passes"] * width / chip.mem_bytes_per_s,
        "layer_s": terms["layer_s"],
        "host_layer_s": terms["host_layer_s"],
    }


def _peak_flops_per_s(chip: Chip, precision: str) -> float:
    """Dense rate in a precision; what the chip lacks is done in the next wider one."""
    plain = chip.plain_flops_per_s or np.nan
    single = chip.fp32_flops_per_s or plain / 2
    rates = {
        "fp32": single,
        "tf32": chip.tf32_flops_per_s or single,
        "int8": chip.int8_ops_per_s or plain,
        "fp8": chip.fp8_flops_per_s or plain,
    }
    return float(rates.get(precision, plain))
