"""Disaggregated serving: prefill on some chips, decode on others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rigright.base.record import dataclass
from rigright.cost.links import send_s
from rigright.cost.memory.kv import entry_bytes
from rigright.cost.speed.parts import ranks_of
from rigright.cost.speed.pipeline import micro_seqs
from rigright.cost.speed.ramp import ramp_of
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.service import LEAST, Limits, late_s
from rigright.cost.speed.step import Pass, StepTime, step
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Traffic

ROUNDS = 3
BUSIEST = 0.999  # of the time, that workers of prompts have one in a loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """What users see where prompts and next tokens are made on different chips."""

    ttft_s: Numbers
    ttft_p50_s: Numbers
    ttft_p95_s: Numbers
    ttft_p99_s: Numbers
    tpot_s: Numbers
    tpot_p95_s: Numbers  # nothing comes between the passes of those who decode
    itl_p50_s: Numbers
    requests_per_s: Numbers
    output_tok_per_s: Numbers
    prefill_busy: Numbers  # share of the prompts' workers in use
    busy: Numbers  # of the room for those who decode; of what arrives: above 1 the queue grows
    running: Numbers  # sequences a worker makes tokens for
    handed_s: Numbers  # a prompt's cache on its way
    waiting_s: Numbers
    prefill_s: Numbers  # a prompt on a worker of its own
    step_s: Numbers  # a pass that makes next tokens
    memory_share: Numbers  # of such a pass
    compute_share: Numbers
    link_share: Numbers
    fixed_share: Numbers
    compute_busy: Numbers  # share of the time that chips compute, those of both kinds on average
    work_busy: Numbers  # and that they compute or read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pools:
    """What both kinds of worker do whatever the load."""

    prompt_s: Numbers
    handed_s: Numbers
    lines: Numbers  # prompts that are worked on side by side
    most: Numbers  # sequences that there is room for while their tokens are made, over all workers
    outputs: Numbers  # tokens after the first
    share: Numbers  # of all chips, that work on prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class _SplitFlow:
    """What goes through, and how long it waits: on average, and half, 95, 99 of 100."""

    decoding: Numbers
    tpot_s: Numbers
    per_s: Numbers
    busy: Numbers
    waits_s: tuple[Numbers, ...]


def serve_apart(
    work: PassWork, rates: Rates, *, prefill: Layout, layout: Layout, traffic: Traffic, limits: Limits
) -> Apart:
    """A closed or open loop over `prefill.dp` workers for prompts and `layout.dp` workers for next tokens."""
    room = np.floor(limits.pool_tok / (traffic.prompt_tok + traffic.output_tok / 2))
    # ranks send their parts of a cache side by side; the rank with most of it, on either side, is last
    each = sum(
        times
        * np.maximum(
            *(entry_bytes(mixer, item, element_bytes=work.kv_elem_bytes) for item in (prefill, layout))
        )
        / mixer.every_tok
        for mixer, times in work.mixers
    )
    workers = [np.asarray(item.tp) * item.pp * item.dp for item in (prefill, layout)]
    pools = _Pools(
        prompt_s=prompt_alone_s(work, rates, layout=prefill, traffic=traffic, budget_tok=limits.budget_tok),
        handed_s=send_s(each * traffic.prompt_tok, wire=rates.wire, outer=sum(workers) > rates.wire.domain),
        lines=prefill.dp * ranks_of(prefill),
        most=np.maximum(np.minimum(room, limits.max_seqs), 1) * layout.dp,
        outputs=np.maximum(traffic.output_tok - 1, 1),
        share=workers[0] / sum(workers),
    )

    def token(decoding: Numbers) -> StepTime:
        return token_pass(work, rates, layout=layout, traffic=traffic, seqs=decoding / layout.dp)

    if traffic.rate_per_s is None:
        flow = _closed(pools, rates, traffic=traffic, token=token)
    else:
        flow = _open(pools, traffic=traffic, token=token)
    free = rates.request_s + pools.prompt_s + pools.handed_s
    return _record(pools, flow, free=free, layout=layout, traffic=traffic, last=token(flow.decoding))


def _closed(
    pools: _Pools, rates: Rates, *, traffic: Traffic, token: Callable[[Numbers], StepTime]
) -> _SplitFlow:
    """Who ends asks again: the slower kind of worker makes the others wait."""
    load, outputs = traffic.concurrency, pools.outputs
    free = rates.request_s + pools.prompt_s + pools.handed_s
    line = np.maximum(load / pools.lines - 1, 0) * pools.prompt_s  # that a load all at once stands in
    first = ramp_of(traffic, load=load, usual=rates.wave).first
    decoding, per_s = np.minimum(load, pools.most), load / (free + outputs * token(1.0).total_s)
    ttft, tpot, value, late = free, free, free, (free, free, free)
    for _ in range(ROUNDS):
        tpot = token(decoding).total_s / (1 + traffic.accepted_tok)
        kept = load / (pools.lines / pools.prompt_s) - outputs * tpot  # where prompts are the limit
        full = load * outputs * tpot / pools.most - outputs * tpot  # where room for tokens is
        value = np.maximum(kept, full)
        # prompts of a service find a free worker as those of an open loop do, behind all others at most
        somebody, after = _met(pools, np.minimum(per_s * pools.prompt_s / pools.lines, BUSIEST))
        late = tuple(np.minimum(waits, line) for waits in late_s(somebody, after))
        wait = first * line / 2 + (1 - first) * np.minimum(somebody * after, line)
        ttft = np.maximum(free + wait, value)
        per_s = load / (ttft + outputs * tpot)
        decoding = np.minimum(per_s * outputs * tpot, pools.most)
    return _SplitFlow(
        decoding=decoding,
        tpot_s=tpot,
        per_s=per_s,
        busy=decoding / pools.most,
        waits_s=(ttft - free, *(np.maximum(item, value - free) for item in late)),
    )


def _met(pools: _Pools, line: Numbers) -> tuple[Numbers, Numbers]:
    """The share of prompts that find no free worker, and how long they wait on average (Sakasegawa)."""
    idle = 1 - np.minimum(line, 1 - LEAST)
    somebody = np.maximum(np.minimum(line, 1.0), LEAST) ** (np.sqrt(2 * (pools.lines + 1)) - 1)
    return somebody, pools.prompt_s / (2 * pools.lines * idle)


def _open(pools: _Pools, *, traffic: Traffic, token: Callable[[Numbers], StepTime]) -> _SplitFlow:
    """Prompts queue for one of several workers; tokens are made for as many as live."""
    arriving, outputs = traffic.rate_per_s, pools.outputs
    kept_tok = 1 + traffic.accepted_tok
    full_s = token(pools.most).total_s / kept_tok
    decoding, tpot = np.minimum(pools.most, 1.0), full_s
    for _ in range(ROUNDS):
        tpot = token(decoding).total_s / kept_tok
        decoding = np.clip(arriving * outputs * tpot, 1, pools.most)
    line = arriving * pools.prompt_s / pools.lines
    capacity = np.minimum(pools.lines / pools.prompt_s, pools.most / (outputs * full_s))
    endless = np.where(arriving < capacity, 0.0, np.inf)
    somebody, after = _met(pools, line)
    return _SplitFlow(
        decoding=decoding,
        tpot_s=tpot,
        per_s=np.minimum(arriving, capacity),
        busy=arriving / capacity,
        waits_s=tuple(endless + wait for wait in (somebody * after, *late_s(somebody, after))),
    )


def _record(
    pools: _Pools, flow: _SplitFlow, *, free: Numbers, layout: Layout, traffic: Traffic, last: StepTime
) -> Apart:
    total, worked = last.total_s, last.gemm_s + last.attention_s
    by_memory = worked * last.memory_s / (last.compute_s + last.memory_s)
    mean, half, late95, late99 = (free + wait for wait in flow.waits_s)
    prompts = flow.per_s * pools.prompt_s / pools.lines  # a prompt's worker computes as long as it has one
    return Apart(
        ttft_s=mean,
        ttft_p50_s=half,
        ttft_p95_s=late95,
        ttft_p99_s=late99,
        tpot_s=flow.tpot_s,
        tpot_p95_s=flow.tpot_s,
        itl_p50_s=flow.tpot_s,
        requests_per_s=flow.per_s,
        output_tok_per_s=flow.per_s * traffic.output_tok,
        prefill_busy=prompts,
        busy=flow.busy,
        running=flow.decoding / layout.dp,
        handed_s=pools.handed_s,
        waiting_s=flow.waits_s[0],
        prefill_s=pools.prompt_s,
        step_s=total,
        memory_share=by_memory / total,
        compute_share=(worked - by_memory) / total,
        link_share=last.link_s / total,
        fixed_share=last.fixed_s / total,
        compute_busy=pools.share * np.minimum(prompts, 1) + (1 - pools.share) * last.compute_s / total,
        work_busy=pools.share * np.minimum(prompts, 1) + (1 - pools.share) * worked / total,
    )


def prompt_alone_s(
    work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, budget_tok: Numbers
) -> Numbers:
    """A prompt on a worker that does nothing else: whole, or in chunks."""
    fresh = np.maximum(traffic.prompt_tok - traffic.cached_tok, 1)
    ranks = ranks_of(layout)
    chunk = np.minimum(fresh, budget_tok)
    content = Pass(
        prefill_tok=chunk * ranks, prefill_seen_tok=traffic.cached_tok + fresh / 2, prefill_seqs=ranks
    )
    return fresh / chunk * step(work, rates, layout=layout, content=content).total_s


def token_pass(work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, seqs: Numbers) -> StepTime:
    """A pass of one worker that makes the next token of so many sequences."""
    content = Pass(
        decode_seqs=micro_seqs(np.maximum(seqs, 1), layout, rates=rates),
        decode_context_tok=traffic.prompt_tok + traffic.output_tok / 2,
        decode_each_tok=1 + traffic.drafted_tok,
    )
    return step(work, rates, layout=layout, content=content)
