"""Rows of inference.csv of encoders: a batch goes through once, and nothing is generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import Sentence, say, with_semicolons
from rigright.facts.chips import Chip
from rigright.facts.find import find_chip
from rigright.predict.samples import encoded_rates, encoded_s, texts_with_band
from rigright.verbs.validate.ask import model_of
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
    cards: int  # that each read their part of the batch
    samples: float  # of one
    tok: float
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
    cards = int(row.get("n_chips") or 1)
    skips = bool(row.get("padding_skipped"))
    if skips:
        assumed.append(say("padding is skipped: assuming sequences of half the maximum length"))
    return EncoderAsk(
        engine=(row.get("engine") or "").strip().lower(),
        chip=find_chip(row.get("chip") or ""),
        arch=arch,
        precision=(row.get("weights") or "fp16").strip().lower(),
        cards=cards,
        samples=float(ceil((row.get("load") or 1) / cards)),
        tok=float(length or USUAL_TOK),
        filled=FILLED if skips else 1.0,
        assumed=tuple(assumed),
    )


def encoder_figures(asks: Sequence[EncoderAsk], tables: Mapping[str, Any] | None = None) -> np.ndarray:
    """Milliseconds of each."""
    rates = [encoded_rates((ask.chip,), ask.engine, precision=ask.precision, tables=tables) for ask in asks]
    seconds = [
        encoded_s(ask.arch, rate, samples=ask.samples, tok=ask.tok, filled=ask.filled)[0]
        for ask, rate in zip(asks, rates, strict=True)
    ]
    return np.array(seconds, dtype=float) * KILO


def predict_encoder(row: Row) -> Prediction:
    """The latency of a batch."""
    ask = read_encoder(row)
    texts = float(ask.samples) * ask.cards * KILO
    rate = texts / float(encoder_figures([ask])[0])
    estimate = texts_with_band(
        rate, arch=ask.arch, engine=ask.engine, chip=ask.chip, source=row.get("source") or ""
    )
    return Prediction(
        metric="latency_ms",
        group="latency_ms",
        predicted=texts / estimate.value,
        low=texts / estimate.high,
        high=texts / estimate.low,
        why=with_semicolons(ask.assumed),
    )
