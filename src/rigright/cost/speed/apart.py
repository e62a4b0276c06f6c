"""Prompts on some chips, next tokens on others: each kind of worker does only its own kind of pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigright.cost.links import send_s
from rigright.cost.memory_kv import entry_bytes
from rigright.cost.speed.parts import ranks_of
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.service import Limits
from rigright.cost.speed.step import Pass, step
from rigright.cost.speed.work import Work
from rigright.demand import Layout, Numbers, Traffic

ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """What users see where prompts and next tokens are made on different chips."""

    ttft_s: Numbers
    tpot_s: Numbers
    requests_per_s: Numbers
    prefill_busy: Numbers  # share of the prompts' workers in use
    decoding: Numbers  # sequences a worker makes tokens for
    handed_s: Numbers  # a prompt's cache on its way


def serve_apart(
    work: Work, rates: Rates, *, prefill: Layout, layout: Layout, traffic: Traffic, limits: Limits
) -> Apart:
    """A closed loop over `prefill.dp` workers for prompts and `layout.dp` workers for next tokens."""
    prompt = _prompt_s(work, rates, layout=prefill, traffic=traffic, limits=limits)
    handed = _handed_s(work, rates, layout=prefill, traffic=traffic)
    lines = prefill.dp * ranks_of(prefill)
    room = np.floor(limits.pool_tok / (traffic.prompt_tok + traffic.output_tok / 2))
    most = np.maximum(np.minimum(room, limits.max_seqs), 1) * layout.dp
    outputs = np.maximum(traffic.output_tok - 1, 1)
    decoding, ttft, tpot = np.minimum(traffic.concurrency, most), prompt, prompt
    for _ in range(ROUNDS):
        tpot = _token_s(work, rates, layout=layout, traffic=traffic, seqs=decoding / layout.dp)
        line = rates.wave * np.maximum(traffic.concurrency / lines - 1, 0) / 2 * prompt
        free = rates.request_s + prompt + handed + line
        kept = traffic.concurrency / (lines / prompt) - outputs * tpot  # where prompts are the limit
        full = traffic.concurrency * outputs * tpot / most - outputs * tpot  # where room for tokens is
        ttft = np.maximum(np.maximum(free, kept), full)
        decoding = np.minimum(traffic.concurrency * outputs * tpot / (ttft + outputs * tpot), most)
    per_s = traffic.concurrency / (ttft + outputs * tpot)
    return Apart(
        ttft_s=ttft,
        tpot_s=tpot,
        requests_per_s=per_s,
        prefill_busy=per_s * prompt / lines,
        decoding=decoding / layout.dp,
        handed_s=handed,
    )


def _prompt_s(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic, limits: Limits) -> Numbers:
    fresh = np.maximum(traffic.prompt_tok - traffic.cached_tok, 1)
    ranks = ranks_of(layout)
    chunk = np.minimum(fresh, limits.budget_tok)
    content = Pass(
        prefill_tok=chunk * ranks, prefill_seen_tok=traffic.cached_tok + fresh / 2, prefill_seqs=ranks
    )
    return fresh / chunk * step(work, rates, layout=layout, content=content).total_s


def _token_s(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic, seqs: Numbers) -> Numbers:
    content = Pass(
        decode_seqs=np.maximum(seqs, 1) / layout.pp,
        decode_context_tok=traffic.prompt_tok + traffic.output_tok / 2,
        decode_each_tok=1 + traffic.drafted_tok,
    )
    return step(work, rates, layout=layout, content=content).total_s / (1 + traffic.accepted_tok)


def _handed_s(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic) -> Numbers:
    each = sum(
        times * entry_bytes(mixer, layout, element_bytes=work.kv_elem_bytes) / mixer.every_tok
        for mixer, times in work.mixers
    )
    return send_s(each * traffic.prompt_tok, wire=rates.wire, outer=True)
