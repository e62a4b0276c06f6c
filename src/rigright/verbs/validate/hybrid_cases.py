"""The figure of a row of hybrid.csv: cards and processor in turn, by the laws of offload."""

from __future__ import annotations

import numpy as np

from rigright.base.units import KILO
from rigright.cost.speed.offload import offloaded
from rigright.verbs.validate.hybrid_asks import HybridAsk


def hybrid_figure(ask: HybridAsk) -> float:
    """One figure in the unit of its metric; nan where it is none of a stream."""
    times = offloaded(
        ask.work,
        chips=ask.chips,
        engine=ask.engine,
        weights=ask.weights,
        host=ask.host,
        ram=ask.ram,
        threads=ask.threads,
        ubatch_tok=ask.ubatch_tok,
        prompts=ask.prompts,
    )
    context = ask.seen_tok + ask.output_tok / 2 + (ask.prompt_tok if ask.seen_tok == 0 else 0.0)
    token = times.token_s(seqs=ask.seqs, context_tok=context)
    prompt = times.prompt_s(prompt_tok=max(ask.prompt_tok, 1.0), seen_tok=ask.seen_tok) * ask.seqs
    total = prompt + ask.output_tok * token
    by_metric = {
        "decode_tok_s_per_user": 1 / token,
        "tpot_ms": token * KILO,
        "ttft_ms": prompt * KILO,
        "prefill_tok_s": ask.seqs * ask.prompt_tok / prompt,
        "output_tok_s_total": ask.seqs * ask.output_tok / total,
        "total_tok_s": ask.seqs * (ask.output_tok + ask.prompt_tok) / total,
    }
    return float(by_metric.get(ask.metric, np.nan))
