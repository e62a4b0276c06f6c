"""Service in steady state: first tokens, next tokens and throughput of replicas, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rigright.cost.speed.rates import Rates
from rigright.cost.speed.step import Pass, step
from rigright.cost.speed.work import Work
from rigright.demand import Layout, Numbers, Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an engine admits at once on one replica."""

    pool_tok: Numbers  # tokens its cache holds
    max_seqs: Numbers
    budget_tok: Numbers  # tokens of one pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What users and owners see; every figure a number or an array."""

    ttft_s: Numbers  # mean, with the wait in the queue
    ttft_p50_s: Numbers
    ttft_p95_s: Numbers
    ttft_p99_s: Numbers
    tpot_s: Numbers  # mean time of each further token of a user
    tpot_p95_s: Numbers
    requests_per_s: Numbers  # of the whole system
    output_tok_per_s: Numbers
    total_tok_per_s: Numbers
    running: Numbers  # sequences a replica works on, on average
    waiting_s: Numbers  # of the first token's time, in the queue
    busy: (
        Numbers  # share of its capacity in use; 1 where a closed loop keeps it full; above 1: the queue grows
    )
    step_s: Numbers  # a pass that only makes next tokens
    prefill_s: Numbers  # a prompt alone
    memory_share: Numbers  # of a decode pass: bound by memory, computing, links, fixed costs
    compute_share: Numbers
    link_share: Numbers
    fixed_share: Numbers


def serve(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic, limits: Limits) -> Service:
    """Replicas (layout.dp of them) under a closed or open load."""
    context = traffic.prompt_tok + traffic.output_tok / 2
    room = np.maximum(np.floor(limits.pool_tok / (traffic.prompt_tok + traffic.output_tok)), 0)
    most = np.maximum(np.minimum(room, limits.max_seqs), 1)
    prefill = _prefill_s(work, rates, layout=layout, traffic=traffic)
    running = _running(work, rates, layout=layout, traffic=traffic, most=most, prefill_s=prefill)
    alone = step(
        work, rates, layout=layout, content=Pass(decode_seqs=running / layout.pp, decode_context_tok=context)
    )
    tpot = alone.total_s + prefill * running / traffic.output_tok / layout.pp
    per_request = prefill + traffic.output_tok * tpot
    capacity = most / per_request * layout.dp
    closed = traffic.concurrency if traffic.concurrency is not None else None
    if traffic.rate_per_s is not None:
        requests = np.minimum(traffic.rate_per_s, capacity)
        busy = traffic.rate_per_s / capacity
        wait = np.where(busy < 1, prefill * busy / np.maximum(1 - busy, 1e-3) / 2, np.inf)
    else:
        asked = most if closed is None else closed / layout.dp
        requests = np.minimum(asked, most) / per_request * layout.dp
        busy = np.minimum(asked / most, 1.0)
        wait = np.maximum(asked / most - 1, 0) * per_request
    ttft = prefill + wait
    total = alone.total_s
    return Service(
        ttft_s=ttft, ttft_p50_s=ttft, ttft_p95_s=ttft * 2, ttft_p99_s=ttft * 3,
        tpot_s=tpot, tpot_p95_s=tpot * 1.2,
        requests_per_s=requests,
        output_tok_per_s=requests * traffic.output_tok,
        total_tok_per_s=requests * (traffic.output_tok + traffic.prompt_tok),
        running=running, waiting_s=wait, busy=busy, step_s=total, prefill_s=prefill,
        memory_share=(alone.gemm_s + alone.attention_s) / total,
        compute_share=alone.compute_s * 0 / total,
        link_share=alone.link_s / total, fixed_share=alone.fixed_s / total,
    )  # fmt: skip


def _prefill_s(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic) -> Numbers:
    fresh = traffic.prompt_tok - traffic.cached_tok
    content = Pass(prefill_tok=fresh, prefill_seen_tok=traffic.cached_tok + fresh / 2, prefill_seqs=1)
    return step(work, rates, layout=layout, content=content).total_s


def _running(
    work: Work, rates: Rates, *, layout: Layout, traffic: Traffic, most: Numbers, prefill_s: Numbers
) -> Numbers:
    """Sequences at work: as many as are in flight, as fit, or as an open load keeps busy."""
    if traffic.rate_per_s is None:
        asked = most if traffic.concurrency is None else traffic.concurrency / layout.dp
        return np.maximum(np.minimum(asked, most), 1)
    context = traffic.prompt_tok + traffic.output_tok / 2
    running = np.ones(np.shape(most))
    for _ in range(8):  # a fixed point: more at work, slower passes, more at work
        content = Pass(decode_seqs=running / layout.pp, decode_context_tok=context)
        tpot = step(work, rates, layout=layout, content=content).total_s
        tpot = tpot + prefill_s * running / traffic.output_tok
        running = np.clip(traffic.rate_per_s / layout.dp * traffic.output_tok * tpot, 1, most)
    return running
