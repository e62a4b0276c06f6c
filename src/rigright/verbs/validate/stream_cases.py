"""Figures of many asks at once: those of one model, format and engine are one call of the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.base.record import replace
from rigright.base.units import KILO
from rigright.cost.memory_kv import entry_bytes, state_bytes
from rigright.cost.speed.step import Pass
from rigright.cost.speed.stream import prompt_s, stream_of, token_s
from rigright.demand import Layout
from rigright.predict.served import piped
from rigright.verbs.validate.served_cases import layout_of
from rigright.verbs.validate.stream_asks import StreamAsk

ONE = Layout()
USUAL_SHARE = 0.9  # of a card's memory, of engines whose share follows from other things


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCase:
    """Asks alike but for chips, cards and lengths, and where they stood."""

    places: tuple[int, ...]
    asks: tuple[StreamAsk, ...]
    layout: Layout
    seqs: np.ndarray
    prompt_tok: np.ndarray
    output_tok: np.ndarray
    seen_tok: np.ndarray
    ubatch_tok: np.ndarray


def group_streams(asks: Sequence[StreamAsk]) -> tuple[StreamCase, ...]:
    """Asks by what they share."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, ask in enumerate(asks):
        engine = ask.engine
        kind = (engine.id, engine.version, engine.backend, engine.options)
        key = (*kind, ask.weights, id(ask.work), ask.cut.attention_dp)
        groups.setdefault(key, []).append(place)
    return tuple(_case([asks[place] for place in places], tuple(places)) for places in groups.values())


def _case(asks: list[StreamAsk], places: tuple[int, ...]) -> StreamCase:
    def column(name: str) -> np.ndarray:
        return np.array([getattr(ask, name) for ask in asks], dtype=float)

    names = ("seqs", "prompt_tok", "output_tok", "seen_tok", "ubatch_tok")
    layout = layout_of([ask.cut for ask in asks])
    return StreamCase(
        places=places, asks=tuple(asks), layout=layout, **{name: column(name) for name in names}
    )


def figures(cases: Sequence[StreamCase], tables: Mapping[str, Any] | None = None) -> np.ndarray:
    """One figure an ask, in the unit of its metric; nan where the metric is none of a stream."""
    found = np.full(sum(len(case.places) for case in cases), np.nan)
    for case in cases:
        found[list(case.places)] = _figures(case, tables)
    return found


def _room_seqs(ask: StreamAsk) -> float:
    """Sequences a replica has room for at their full length; the others of a batch wait for these."""
    if ask.engine.pool != "share":
        return np.inf
    tok = ask.seen_tok + ask.prompt_tok + ask.output_tok
    each = sum(
        float(times)
        * (tok * entry_bytes(mixer, ONE, element_bytes=ask.work.kv_elem_bytes) + state_bytes(mixer, ONE))
        for mixer, times in ask.work.mixers
    )
    size = sum(float(gemm.size_bytes) for gemm in ask.work.gemms)
    own = ask.cards / ask.cut.workers
    pool = (ask.engine.share or USUAL_SHARE) * ask.chip.mem_usable_bytes * own - size
    return max(pool / each, 1.0) if each else np.inf


def _figures(case: StreamCase, tables: Mapping[str, Any] | None) -> np.ndarray:
    first = case.asks[0]
    chips = {ask.chip.id: ask.chip for ask in case.asks}
    order = {name: place for place, name in enumerate(chips)}
    places = np.array([order[ask.chip.id] for ask in case.asks])
    known = stream_of(tuple(chips.values()), first.engine, weights=first.weights, tables=tables)
    stream = known.at(places)
    told = np.isfinite(case.ubatch_tok)
    stream = replace(stream, ubatch_tok=np.where(told, case.ubatch_tok, stream.ubatch_tok))
    gain = piped(first.arch, first.engine, work=first.work, stages=case.layout.pp)
    stream = replace(stream, rates=replace(stream.rates, piped=stream.rates.piped * gain))
    layout, replicas = replace(case.layout, dp=1), case.layout.dp
    context = case.seen_tok + case.prompt_tok + case.output_tok / 2
    each = np.ceil(case.seqs / replicas)  # of one replica
    held = np.minimum(each, np.array([_room_seqs(ask) for ask in case.asks]))
    token = token_s(first.work, stream, layout=layout, seqs=held, context_tok=context)
    content = Pass(
        prefill_tok=np.maximum(case.prompt_tok, 1) * held,
        prefill_seen_tok=case.seen_tok,
        prefill_seqs=held,
    )
    prompt = prompt_s(first.work, stream, layout=layout, content=content)
    waited = np.where([ask.alone for ask in case.asks], 0.0, prompt)
    made = case.seqs * case.output_tok
    total = (waited + case.output_tok * (token + stream.talk_s)) * (each / held)
    by_metric = {
        "decode_tok_s_per_user": 1 / token,
        "tpot_ms": token * KILO,
        "ttft_ms": prompt * KILO,
        "prefill_tok_s": np.minimum(held * replicas, case.seqs) * case.prompt_tok / prompt,
        "output_tok_s_total": made / total,
        "total_tok_s": (made + case.seqs * case.prompt_tok) / total,
        "latency_ms": total * KILO,
    }
    unknown = np.full(len(case.asks), np.nan)
    return np.array(
        [by_metric.get(ask.metric, unknown)[place] for place, ask in enumerate(case.asks)], dtype=float
    )
