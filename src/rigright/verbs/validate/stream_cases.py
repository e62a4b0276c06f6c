"""Figures of many asks at once: those of one model, format and engine are one call of the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.base.units import KILO
from rigright.predict.streams import StreamCases, stream_figures
from rigright.verbs.validate.ask import RunAsk
from rigright.verbs.validate.served_cases import layout_of

METRICS = {  # of the file -> as plans name it, and how many of ours one is
    "decode_tok_s_per_user": ("user_tok_per_s", 1),
    "tpot_ms": ("tpot_s", KILO),
    "ttft_ms": ("ttft_s", KILO),
    "latency_ms": ("latency_s", KILO),
    "prefill_tok_s": ("prefill_tok_per_s", 1),
    "output_tok_s_total": ("output_tok_per_s", 1),
    "total_tok_s": ("total_tok_per_s", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCase:
    """Asks alike but for chips, cards and lengths, and where they stood."""

    places: tuple[int, ...]
    asks: tuple[RunAsk, ...]
    cases: StreamCases


def group_streams(asks: Sequence[RunAsk]) -> tuple[StreamCase, ...]:
    """Asks by what they share."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, ask in enumerate(asks):
        engine = ask.engine
        kind = (engine.id, engine.version, engine.backend, engine.options)
        key = (*kind, ask.weights, id(ask.work), ask.told_layout.attention_dp)
        groups.setdefault(key, []).append(place)
    return tuple(_case([asks[place] for place in places], tuple(places)) for places in groups.values())


def _case(asks: list[RunAsk], places: tuple[int, ...]) -> StreamCase:
    first, chips = asks[0], tuple({ask.chip.id: ask.chip for ask in asks}.values())
    order = {chip.id: place for place, chip in enumerate(chips)}
    cases = StreamCases(
        arch=first.arch,
        work=first.work,
        weights=first.weights,
        engine=first.engine,
        chips=chips,
        chip_of=np.array([order[ask.chip.id] for ask in asks]),
        layout=layout_of([ask.told_layout for ask in asks]),
        cards=np.array([ask.chips / ask.told_layout.dp for ask in asks]),
        seqs=np.array([ask.traffic.concurrency for ask in asks], dtype=float),
        prompt_tok=np.array([ask.traffic.prompt_tok for ask in asks], dtype=float),
        output_tok=np.array([ask.traffic.output_tok for ask in asks], dtype=float),
        seen_tok=np.array([ask.seen_tok for ask in asks], dtype=float),
        ubatch_tok=np.array([ask.serving.budget_tok for ask in asks], dtype=float),
        alone=np.array([ask.prompt_left_out for ask in asks]),
    )
    return StreamCase(places=places, asks=tuple(asks), cases=cases)


def figures(cases: Sequence[StreamCase], tables: Mapping[str, Any] | None = None) -> np.ndarray:
    """One figure an ask, in the unit of its metric; nan where the metric is none of a stream."""
    found = np.full(sum(len(case.places) for case in cases), np.nan)
    for case in cases:
        told = stream_figures(case.cases, tables)
        for row, (place, ask) in enumerate(zip(case.places, case.asks, strict=True)):
            if ask.metric in METRICS:
                name, times = METRICS[ask.metric]
                found[place] = told[name][row] * times
    return found
