"""The figure of a row of hybrid.csv: one stream on cards and processor in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.base.units import GIGA, KILO
from rigright.cost.speed.rates import beside
from rigright.cost.speed.step import Pass, sent_bytes
from rigright.cost.speed.stream import prompt_s, stream_of, token_s
from rigright.demand import Layout
from rigright.facts.hosts import host_chip
from rigright.verbs.validate.hybrid_asks import HybridAsk

USUAL_DISK_BYTES_PER_S = 3.0 * GIGA  # of a machine that nobody says more of
PAGED = 0.25  # of a disk's rate in a row, that pages of a mapped file come at


def hybrid_figure(ask: HybridAsk, tables: Mapping[str, Any] | None = None) -> float:
    """One figure in the unit of its metric; nan: none of a stream. `tables`: other terms than ours."""
    processor = host_chip(ask.host, threads=ask.threads)
    chips = ask.chips or (processor,)
    stream = stream_of(chips, ask.engine, weights=ask.weights, tables=tables)
    work = ask.work
    if ask.chips:
        work = replace(work, ram=ask.ram)
        rates = beside(
            stream.rates,
            (processor,) * len(chips),
            cards=chips,
            engine=ask.engine,
            weights=ask.weights,
            streams=tables,
        )
        if ask.computes and rates.host is not None:
            rates = replace(rates, host=replace(rates.host, most_tok=np.inf))
        stream = replace(stream, rates=rates)
    if ask.ubatch_tok is not None:
        stream = replace(stream, ubatch_tok=np.full(len(chips), float(ask.ubatch_tok)))
    context = ask.seen_tok + ask.output_tok / 2 + (ask.prompt_tok if ask.seen_tok == 0 else 0.0)
    content = Pass(
        prefill_tok=max(ask.prompt_tok, 1.0) * ask.seqs, prefill_seen_tok=ask.seen_tok, prefill_seqs=ask.seqs
    )
    # unlike cards have each their share of the layers
    token = float(np.mean(token_s(work, stream, layout=Layout(), seqs=ask.seqs, context_tok=context)))
    prompt = float(np.mean(prompt_s(work, stream, layout=Layout(), content=content)))
    if ask.disk_share:
        token += _disk_s(ask, tok=1.0)
        prompt += _disk_s(ask, tok=ask.prompt_tok)
    total = prompt + ask.output_tok * token
    by_metric = {
        "decode_tok_s_per_user": 1 / token,
        "tpot_ms": token * KILO,
        "ttft_ms": prompt * KILO,
        "prefill_tok_s": ask.seqs * ask.prompt_tok / prompt,
        "output_tok_s_total": ask.seqs * ask.output_tok / total,
        "total_tok_s": ask.seqs * (ask.output_tok + ask.prompt_tok) / total,
    }
    return by_metric.get(ask.metric, float("nan"))


def _disk_s(ask: HybridAsk, *, tok: float) -> float:
    """What reading takes of weights that main memory has no room for: pages here and there, not in a row."""
    rate = (ask.host.disk_bytes_per_s or USUAL_DISK_BYTES_PER_S) * PAGED
    return float(sent_bytes(ask.work, ask.ram, tok=tok)) * ask.disk_share / rate
