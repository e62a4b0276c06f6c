"""A row of one stream or one static batch -> what ran, how, and what had to be assumed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import replace
from rigright.base.tables import Row
from rigright.base.units import KILO
from rigright.base.words import Sentence, say, with_semicolons
from rigright.choice.case import serving_case
from rigright.cost.estimate import over
from rigright.cost.speed.eras import is_dated
from rigright.cost.speed.reach import KERNEL
from rigright.cost.unsaid import Prior
from rigright.demand import Layout, Serving, Traffic
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine, backend_in, engines, find_engine
from rigright.facts.find import find_chip
from rigright.facts.formats import GGUF, find_format, find_kv_format
from rigright.facts.nodes import Card
from rigright.predict.samples import encoded_rates, encoded_s, texts_with_band
from rigright.terms.fitted import priors
from rigright.verbs.validate.ask import RunAsk, card_of, model_of, unstated, usual
from rigright.verbs.validate.record import Prediction
from rigright.verbs.validate.served_asks import layouts_of

SUBJECT = "speed_streams"
MXFP4 = "mxfp4"
WIDE_TOK, WIDE_ON = 2048, {"cuda", "rocm"}  # llama-bench -p 2048 -ub 2048, where a pass has room for it
USUAL = {"prompt_tok": 128, "output_tok": 256}


def read_stream(row: Row) -> RunAsk:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    assumed = [*notes]
    engine = _engine_of(row)
    weights = _weights_of(row, engine, arch=arch)
    if row.get("weights") is None:
        assumed.append(unstated("weights", weights))
    card = card_of(row.get("chip") or row.get("chip_name"))
    chip = card.chip
    if engine.backends and not engine.backend:
        assumed.append(unstated("backend", engine.backend_on(chip.vendor)))
    cards = int(row.get("n_chips") or row.get("tp") or 1)
    form, _, kernel = weights.partition(KERNEL)
    kv, budget_tok = find_kv_format(row.get("kv") or "16bit").id, _ubatch_tok(row, engine, card=card)
    seen_tok = float(row.get("context_depth") or 0.0)
    prompt_tok, output_tok = (usual(row, name, value=tok, assumed=assumed) for name, tok in USUAL.items())
    case = serving_case(
        arch,
        Serving(engine=engine.asked, weights=form, kv=kv, batch=None, budget_tok=budget_tok),
        layout=_layout(row, engine, cards=cards),
        cards=(card,) * cards,
        engine=engine,
        traffic=Traffic(
            prompt_tok=seen_tok + prompt_tok,
            output_tok=float(output_tok),
            cached_tok=seen_tok,
            concurrency=int(row.get("load") or 1),
        ),
        kernel=kernel,
        file_gib=row.get("file_gib"),
        is_alone=True,
        prompt_left_out=bool(row.get("prompt_left_out")),
    )
    unsaid = _open_choices(row, engine, chip=chip)
    return RunAsk(case=case, metric=row["metric"], unsaid=unsaid, assumed=tuple(assumed))


def _open_choices(row: Row, engine: Engine, *, chip: Chip) -> tuple[Prior, ...]:
    """What a row leaves open, with how people run: lengths, the format, the backend."""
    tables = ["streams", engine.unsaid_weights]
    if not engine.backend and engine.backends:
        tables.append(chip.vendor)
    result = {name: prior for table in tables for name, prior in priors(table).items()}
    return tuple(prior for name, prior in result.items() if row.get(name) is None)


def _layout(row: Row, engine: Engine, *, cards: int) -> Layout:
    """How the cards are shared: layer by layer, as the row says, or each layer over all of them."""
    if engine.split == "layer":
        return Layout(pp=cards)
    _, layout = layouts_of(row, chips=cards, assumed=[])
    return layout or Layout(tp=cards)


def _engine_of(row: Row) -> Engine:
    """The engine as the speed tables know it, at the version a row tells."""
    asked = (row.get("engine") or "").strip().lower()
    if not asked:
        raise AskError(say("engine is empty"))
    version, day = row.get("engine_version") or "", row.get("measured") or ""
    if not is_dated(version):
        version = f"{version} {day}".strip()
    return _engine(asked, version, backend=row.get("backend") or "", flash=row.get("fa"))


@cache
def _engine(asked: str, version: str, *, backend: str, flash: bool | None) -> Engine:
    called = corrections(SUBJECT)["callings"].get(asked)
    if called is None:
        engine = find_engine(asked)
    else:
        like = engines()[called["like"]]
        says = like.says if called["like"] == called["engine"] else {}
        engine = replace(like, id=called["engine"], split=called["split"], says=says)
    engine = replace(engine, version=version) if version else engine
    return _built(engine, text=backend, flash=flash) if engine.backends else engine


def _built(engine: Engine, *, text: str, flash: bool | None) -> Engine:
    """The engine with the backend a row tells, and whether attention was one kernel."""
    pairs = [backend_in(words) for words in (text, engine.version) if words]
    backend = next((name for name, _ in pairs if name), engine.backend)
    options = {option for _, named in pairs for option in named}
    if flash is not None:
        options.add("flash" if flash else "no-flash")
    return replace(engine, backend=backend, options=tuple(sorted(options | set(engine.options))))


def _ubatch_tok(row: Row, engine: Engine, *, card: Card) -> float:
    """Tokens of a prompt worked on at once: as the row says; of prompts of just 2,048, as many, by habit.

    A server cuts a lone prompt as it cuts any; nan: the terms of the engine say.
    """
    value = row.get("ubatch_tok") or row.get("max_num_batched_tokens")
    if value is not None:
        return float(value)
    if engine.pool == "share":
        return float(engine.default(engine.budget_tok, card.total_bytes, chip=card.chip.id) or math.nan)
    backend = engine.backend_on(card.chip.vendor)
    wide = row.get("prompt_tok") == WIDE_TOK and not row.get("output_tok") and backend in WIDE_ON
    return float(WIDE_TOK) if wide else math.nan


def _usual_form(engine: Engine, arch: Arch) -> str:
    """The format people run where a row names none: experts of 4 bit stay as they are published."""
    if arch.stored == MXFP4:
        return f"{GGUF}{MXFP4}" if engine.unsaid_weights.startswith(GGUF) else MXFP4
    return engine.unsaid_weights or arch.stored or arch.dtype


def _weights_of(row: Row, engine: Engine, *, arch: Arch) -> str:
    """The format of the weights: as told, as the engine means it, or as the model is published."""
    value = (row.get("weights") or _usual_form(engine, arch)).strip().lower()
    spoken = corrections(SUBJECT)["spoken"].get(value)
    if spoken is not None:
        return f"{spoken['format']}{KERNEL}{spoken['kernel']}"
    kernel = row.get("kernel")
    return find_format(engine.says.get(value, value)).id + (KERNEL + kernel.lower() if kernel else "")


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


def read_encoder(row: Row) -> EncoderAsk:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    assumed = [*notes]
    length = usual(row, "prompt_tok", value=USUAL_TOK, assumed=assumed)
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
    texts_per_s = texts_with_band(
        rate, arch=ask.arch, engine=ask.engine, chip=ask.chip, source=row.get("source") or ""
    )
    return Prediction.of("latency_ms", over(texts, texts_per_s), why=with_semicolons(ask.assumed))
