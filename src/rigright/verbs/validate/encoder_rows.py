"""Rows of inference.csv of encoders: a batch goes through once, and nothing is generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import Sentence, say, with_semicolons
from rigright.cost.bands import banded
from rigright.cost.known import known_of_one, ran
from rigright.cost.speed.encoder import SUBJECT, encode_s, encoder_rates
from rigright.facts.chips import Chip
from rigright.facts.find import find_chip
from rigright.verbs.validate.models import model_of
from rigright.verbs.validate.record import Prediction

USUAL_TOK = 128
FILLED = 0.5  # of the longest sequence, where padding is skipped and nobody tells how long sequences are


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderAsk:
    """What a row asks."""

    engine: str
    chip: Chip
    arch: Arch
    precision: str
    samples: float
    length_tok: float
    filled: float
    assumed: tuple[Sentence, ...]


def is_encoding(row: Row) -> bool:
    """Whether a row's batch goes through an encoder once."""
    return row["metric"] == "latency_ms" and row.get("output_tok") == 0


def read_encoder(row: Row) -> EncoderAsk:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    assumed = [*notes]
    length = row.get("prompt_tok")
    if length is None:
        assumed.append(say("{column} not stated: assuming {value}", column="prompt_tok", value=USUAL_TOK))
    skips = bool(row.get("padding_skipped"))
    if skips:
        assumed.append(say("padding is skipped: assuming sequences of half the maximum length"))
    return EncoderAsk(
        engine=(row.get("engine") or "").strip().lower(),
        chip=find_chip(row.get("chip") or ""),
        arch=arch,
        precision=(row.get("weights") or "fp16").strip().lower(),
        samples=float(row.get("load") or 1),
        length_tok=float(length or USUAL_TOK),
        filled=FILLED if skips else 1.0,
        assumed=tuple(assumed),
    )


def encoder_figures(asks: Sequence[EncoderAsk], tables: Mapping[str, Any] | None = None) -> np.ndarray:
    """Milliseconds of each."""
    rates = [encoder_rates((ask.chip,), ask.engine, precision=ask.precision, tables=tables) for ask in asks]
    seconds = [
        encode_s(ask.arch, rate, samples=ask.samples, length_tok=ask.length_tok, filled=ask.filled)[0]
        for ask, rate in zip(asks, rates, strict=True)
    ]
    return np.array(seconds, dtype=float) * KILO


def predict_encoder(row: Row) -> Prediction:
    """The latency of a batch."""
    ask = read_encoder(row)
    value = float(encoder_figures([ask])[0])
    known = known_of_one(SUBJECT, ask.chip, what=ran(ask.arch, engine=ask.engine, source=row.get("source")))
    found = banded(SUBJECT, "latency_ms", value=value, known=known)
    return Prediction(
        metric="latency_ms",
        group="latency_ms",
        measured=row.get("value"),
        predicted=float(found.value),
        low=float(found.low),
        high=float(found.high),
        why=with_semicolons(ask.assumed),
    )
