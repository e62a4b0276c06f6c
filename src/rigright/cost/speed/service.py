"""Steady-state serving: TTFT, TPOT and throughput of replicas, in closed form.

A decoding sequence shares its steps with the prompts of others: during its life each of the other
sequences is replaced once, so it waits for as many prompts as there are others. Requests of a service arrive
one by one, as others finish; a run that ends (`Traffic.requests`) starts all at the same moment, and its
first round meets a queue of prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.cost.speed.parts import Part, parts_of, ranks_of
from rigright.cost.speed.pipeline import apart_of, fullest, micro_seqs, overlap_of, pipeline_gain
from rigright.cost.speed.ramp import FEWER, ramp_of
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.step import Pass, StepTime, longest_s, step
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Traffic

if TYPE_CHECKING:
    from rigright.cost.speed.prefix import PrefixHits

ROUNDS = 8  # of chords to the fixed point of an open load
P95, P99 = 1.645, 2.326  # of a normal spread
LEAST = 1e-9  # of a share, so that it has a logarithm
SLOWEST = 0.999  # a queue this full is as good as endless
HALVINGS = 10
PARTS = (0.5, 0.05, 0.01)  # of all requests
KEPT = 0.84  # of a limit for 99 of 100 requests, the mean of a server that keeps it
FEW = 0.4  # by how much the median of rare arrivals lies below their mean


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
    itl_p50_s: Numbers  # half of all times between tokens are shorter
    requests_per_s: Numbers  # of the whole system
    output_tok_per_s: Numbers
    running: Numbers  # sequences a replica works on, on average
    waiting_s: Numbers  # of the first token's time, in the queue
    busy: Numbers  # share of capacity in use; 1: a closed loop keeps it full; above 1: the queue grows
    step_s: Numbers  # a pass that only makes next tokens
    prefill_s: Numbers  # a prompt alone
    memory_share: Numbers  # of a decode pass: bound by memory, computing, links, fixed costs
    compute_share: Numbers
    link_share: Numbers
    fixed_share: Numbers
    compute_busy: Numbers  # share of the time that chips compute, prompts and next tokens together
    work_busy: Numbers  # and that they compute or read
    hits: PrefixHits | None = None  # of sessions: what is found of a prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """What goes through one replica, and how long it waits: on average, and half, 95, 99 of 100."""

    running: Numbers
    per_s: Numbers
    busy: Numbers
    waits_s: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """One replica with so many sequences at work."""

    decode: StepTime  # a pass that only makes next tokens
    decode_s: Numbers
    prompt_s: Numbers  # what one prompt adds to the passes it is part of
    next_s: Numbers  # what one more adds, where they have room
    met_s: Numbers  # what all prompts of such a pass add to it: who comes then waits for them
    alone_s: Numbers  # from a prompt's first pass to its first token
    tpot_s: Numbers
    itl_s: Numbers  # half of the passes are shorter
    life_s: Numbers  # of a request, once admitted
    compute_s: Numbers  # of a chip, for one request
    work_s: Numbers


def serve(work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, limits: Limits) -> Service:
    """Replicas (layout.dp of them) under a closed or open load, or as much as fits."""
    most = admitted(rates, traffic=traffic, limits=limits)
    asked_of: Any = {"layout": layout, "traffic": traffic, "limits": limits}
    if traffic.tpot_p99_s is not None:
        return _within(work, rates, most=most, asked=asked_of)
    if traffic.rate_per_s is not None:
        return _open(work, rates, most=most, asked=asked_of)
    filled = most / (1 + most / rates.fill_seqs)  # an offline run fills up, and drains
    asked = filled if traffic.concurrency is None else np.maximum(traffic.concurrency / layout.dp, 1)
    running = np.minimum(asked, most)
    load = _load(work, rates, running=running, **asked_of)
    met, lasts = _met(load, running)
    per_s = running / (load.life_s + met * lasts)
    if traffic.concurrency is not None:  # of more replicas than requests some are idle
        per_s = per_s * np.minimum(traffic.concurrency / layout.dp, 1)
    ramp, beyond = ramp_of(traffic, load=asked * layout.dp, usual=rates.wave), 1 - running / asked
    queued = (asked - running) / per_s * ramp.queue(beyond)
    if traffic.requests is not None and traffic.concurrency is not None:
        fewer_s = _fewer_s(work, rates, load=load, running=running, asked=asked_of)
        tail_s = ramp.tail_s(running * layout.dp, fewer_s=fewer_s)
        passes = running * traffic.prompt_tok / (limits.budget_tok * ranks_of(layout))
        others_s = (load.tpot_s - fewer_s[-1]) * ramp.prompts(1 - beyond, passes=passes)
        load = replace(load, tpot_s=ramp.token_s(fewer_s[-1], alone_s=fewer_s[0]) + others_s)
        per_s = 1 / (1 / per_s + tail_s * ramp.first / asked)
    line = (running - 1) * load.prompt_s  # all that came at once, one after the other
    waits = (np.maximum(ramp.first * line / 2, met * lasts), *late_s(met, lasts))
    flow = _Flow(
        running=running, per_s=per_s, busy=asked / most, waits_s=tuple(queued + wait for wait in waits)
    )
    return _service(load, flow, layout=layout, traffic=traffic)


def _fewer_s(work: PassWork, rates: Rates, *, load: _Load, running: Numbers, asked: Any) -> list[Numbers]:
    """A token's time as ever fewer are at work, in steps without prompts; answers alike end together."""
    each, kept_tok = [load] * len(FEWER), 1 + asked["traffic"].accepted_tok
    if asked["traffic"].output_spread is not None:
        each = [_load(work, rates, running=np.maximum(running, 1) ** power, **asked) for power in FEWER]
    return [item.decode_s / kept_tok for item in each]


def _met(load: _Load, running: Numbers) -> tuple[Numbers, Numbers]:
    """How much of the time the prompts of all others are worked on, and how long who meets them waits.

    Who waits starts later again: the wait is part of the life in which the others come once.
    """
    others = np.maximum(running - 1, 0)
    free = load.life_s - others * load.next_s
    wait = (np.hypot(free, np.sqrt(2 * others * load.prompt_s * load.met_s)) - free) / 2
    met = np.minimum(others * load.prompt_s / (load.life_s + wait), SLOWEST)
    return met, wait / np.maximum(met, LEAST)


def admitted(rates: Rates, *, traffic: Traffic, limits: Limits) -> Numbers:
    """Sequences a replica holds at once, at most: as many as the cache has room for."""
    each = traffic.prompt_tok - traffic.shared_tok + rates.grown * traffic.output_tok
    room = np.floor((limits.pool_tok - traffic.shared_tok) / each)
    return np.maximum(np.minimum(room, limits.max_seqs), 1)


def _passes_of(
    rates: Rates, *, layout: Layout, traffic: Traffic, limits: Limits, running: Numbers
) -> tuple[Pass, Pass, Numbers]:
    """A pass that only makes next tokens, one that takes prompts in too, and how many it has room for."""
    passes = micro_seqs(running, layout, rates=rates)
    fresh = np.maximum(traffic.prompt_tok - traffic.cached_tok, 1)
    each, outputs = 1 + traffic.drafted_tok, np.maximum(traffic.output_tok, 1)
    ranks = ranks_of(layout)
    most_tok = limits.budget_tok * ranks
    # who waits for room in a pass makes no tokens: as many do as the prompts it has room for keep at work
    kept = np.maximum(most_tok * outputs / (fresh + each * outputs), np.minimum(passes, 1))
    decode = Pass(
        decode_seqs=np.minimum(passes, kept),
        decode_context_tok=traffic.prompt_tok + traffic.output_tok / 2,
        decode_each_tok=each,
    )
    # each pass ends some sequences, and as many prompts come in with the next: whole, or in chunks
    together = np.minimum(ranks**rates.gathered, np.maximum(passes, 1))
    room = np.maximum(most_tok - decode.decode_seqs * each, 1)
    most = fullest(passes / outputs, room=room / fresh, passes=running / passes)  # all keep its pace
    tok = np.minimum(np.maximum(most, together) * fresh, room)
    prompts = tok / fresh
    mixed = replace(
        decode,
        prefill_tok=tok,
        prefill_seen_tok=traffic.cached_tok + fresh / 2,
        prefill_seqs=np.maximum(prompts, 1),
        heard_share=np.minimum(prompts, 1),
    )
    return decode, mixed, room / fresh


def _load(
    work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, limits: Limits, running: Numbers
) -> _Load:
    only, both, room = _passes_of(rates, layout=layout, traffic=traffic, limits=limits, running=running)
    passes, outputs = micro_seqs(running, layout, rates=rates), np.maximum(traffic.output_tok, 1)
    prompts = both.prefill_tok / np.maximum(traffic.prompt_tok - traffic.cached_tok, 1)
    parts = parts_of(work, layout)
    decode, mixed = (
        _in_round(work, rates, layout=layout, content=item, parts=parts, passes=running / passes)
        for item in (only, both)
    )
    decode_s, pass_s = decode.total_s, mixed.total_s
    chunks = np.maximum(1 / prompts, 1)
    gain = pipeline_gain(work, rates, cards=np.asarray(layout.pp, dtype=float), passes=chunks)
    added_s = np.maximum(pass_s - decode_s, 0) / prompts
    # a pass has its fixed times once: with room for more prompts, those that wait share them
    shared_s = np.maximum(mixed.fixed_s - decode.fixed_s, 0) * (1 - prompts / room) / prompts
    # others' prompts hold up all of a pipeline's micro-batches but for what comes to several of them alike
    apart = apart_of(work, rates, passes=running / passes, prompts=passes / outputs, room=room)
    # prompts that wait find the first stage free as soon as one has gone on to the next
    lined = np.maximum(gain, 1 + (layout.pp - 1) * overlap_of(work, rates))
    others = np.maximum(running - 1, 0) / apart
    token_s = decode_s / (1 + traffic.accepted_tok)
    # a next token waits for the prompts of one pass at most: who has no room there waits for the first
    met = np.minimum(others / outputs, room)
    tpot = token_s + met * added_s
    between = rates.ahead * np.minimum(np.maximum(running - 1, 0), 1) * decode_s
    alone = rates.request_s + traffic.reload_s + chunks * pass_s / gain + between
    rest = np.maximum(traffic.output_tok - 1, 0) * tpot
    # a life holds the prompts of all at work, and the passes that work them off
    alone = np.maximum(alone, running / np.maximum(gain, apart) * added_s + passes / prompts * token_s - rest)
    arrive = np.minimum(running / apart / outputs, room)  # at a pass, on average
    usual = np.maximum(arrive - FEW, 0.0)  # and in the middle one
    # of the passes that make its tokens a request's own part, and what its prompt adds to them
    own = traffic.output_tok / (1 + traffic.accepted_tok) / running
    compute_s, work_s = (
        own * once + np.maximum(whole - once, 0) / prompts / layout.pp
        for once, whole in ((decode.compute_s, mixed.compute_s), (decode.work_s, mixed.work_s))
    )
    return _Load(
        decode=decode, decode_s=decode_s, prompt_s=added_s / lined, alone_s=alone,
        next_s=np.maximum(added_s - shared_s, 0) / lined, met_s=added_s * np.maximum(prompts, 1) / lined,
        tpot_s=tpot, itl_s=decode_s + usual * added_s, life_s=alone + rest,
        compute_s=compute_s, work_s=work_s,
    )  # fmt: skip


def _in_round(
    work: PassWork, rates: Rates, *, layout: Layout, content: Pass, parts: Sequence[Part], passes: Numbers
) -> StepTime:
    """A pass of one micro-batch, where so many are under way."""
    time = step(work, rates, layout=layout, content=content, parts=parts)
    waits = longest_s(time, work, rates=rates, layout=layout, passes=passes)
    return replace(time, fixed_s=time.fixed_s + waits)


def _open(work: PassWork, rates: Rates, *, most: Numbers, asked: Any) -> Service:
    """More at work, slower passes, more at work: a fixed point; and a queue where it is nearly full."""
    layout, traffic = asked["layout"], asked["traffic"]
    if traffic.requests is not None:  # no more are at work than come
        most = np.fmin(most, np.maximum(traffic.requests / layout.dp, 1))
    arriving = traffic.rate_per_s / layout.dp
    capacity = most / _load(work, rates, running=most, **asked).life_s
    # in a life as many arrive as are at work: a life is nearly straight in those at work, so chords meet it
    low, high = np.ones_like(most), most
    short = arriving * _load(work, rates, running=low, **asked).life_s - low
    long = most * (arriving / capacity - 1)
    for _ in range(ROUNDS):
        # where a chord crosses zero; its near end where even there too few arrive, its far where too many
        share = short / np.maximum(short - long, LEAST)
        running = low + (high - low) * np.where(long >= 0, 1.0, np.clip(share, 0, 1))
        load = _load(work, rates, running=running, **asked)
        gap = arriving * load.life_s - running
        low, short = np.where(gap > 0, running, low), np.where(gap > 0, gap, short)
        high, long = np.where(gap > 0, high, running), np.where(gap > 0, long, gap)
    busy = arriving / capacity
    endless = np.where(busy < 1, 0.0, np.inf)
    flows = np.minimum(arriving, capacity)
    line, after = _line(load, flows)  # who waits to be let in meets no line of prompts there
    if traffic.requests is not None:  # the queue grows until the last has come; the end is slower
        count = traffic.requests / layout.dp
        endless = np.maximum(count - most, 0) / 2 * np.maximum(1 / capacity - 1 / arriving, 0)
        ramp = ramp_of(traffic, load=running, usual=rates.wave)
        fewer_s = _fewer_s(work, rates, load=load, running=running, asked=asked)
        tail_s = ramp.tail_s(running * layout.dp, fewer_s=fewer_s)
        flows = count / (np.maximum(count / arriving + load.life_s, count / capacity) + tail_s)
    # few slots are all taken long before they are on average (Sakasegawa); answers alike halve the wait
    full = np.minimum(busy, SLOWEST)
    taken = full ** (np.sqrt(2 * (most + 1)) - 1)
    slot_s = load.life_s / most / (1 - full) / 2
    if traffic.requests is not None:  # no queue of a short run grows past what chance makes of so many
        slot_s = np.minimum(slot_s, np.sqrt(traffic.requests / layout.dp) / capacity / 2)
    waits = ((share * lasts, *late_s(share, lasts)) for share, lasts in ((line, after), (taken, slot_s)))
    flow = _Flow(
        running=running,
        per_s=flows,
        busy=busy,
        waits_s=tuple(endless + sum(both) for both in zip(*waits, strict=True)),
    )
    return _service(load, flow, layout=layout, traffic=traffic)


def _within(work: PassWork, rates: Rates, *, most: Numbers, asked: Any) -> Service:
    """As many at work as keep the limits of 99 of 100 requests; no more than arrive at a stated rate."""
    layout, traffic = asked["layout"], asked["traffic"]
    rate = np.inf if traffic.rate_per_s is None else traffic.rate_per_s / layout.dp
    low, high = np.ones_like(most), most
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        load = _load(work, rates, running=middle, **asked)
        per_s = middle / load.life_s
        late = load.alone_s + late_s(*_line(load, per_s))[-1]
        keeps = (load.tpot_s <= KEPT * traffic.tpot_p99_s) & (late <= traffic.ttft_p99_s) & (per_s <= rate)
        low, high = np.where(keeps, middle, low), np.where(keeps, high, middle)
    load = _load(work, rates, running=low, **asked)
    per_s = low / load.life_s
    line, after = _line(load, per_s)
    flow = _Flow(
        running=low,
        per_s=np.where(np.isfinite(rate), rate, per_s),  # who keeps limits at a rate keeps the rate
        busy=low / most,
        waits_s=(line * after, *late_s(line, after)),
    )
    return _service(load, flow, layout=layout, traffic=traffic)


def _line(load: _Load, per_s: Numbers) -> tuple[Numbers, Numbers]:
    """How much of the time others' prompts are worked on, and how long who meets them waits on average."""
    line = np.minimum(per_s * load.prompt_s, SLOWEST)
    behind = np.minimum(per_s * load.next_s, SLOWEST)
    return line, load.met_s / (1 - behind) / 2


def late_s(met: Numbers, lasts: Numbers) -> tuple[Numbers, ...]:
    """What half, 5 and 1 of 100 wait longer than, where so many wait at all, so long on average."""
    return tuple(np.maximum(np.log(np.maximum(met, LEAST) / part), 0) * lasts for part in PARTS)


def _service(load: _Load, flow: _Flow, *, layout: Layout, traffic: Traffic) -> Service:
    varies = traffic.prompt_spread * load.alone_s
    requests = flow.per_s * layout.dp
    total = load.decode_s
    mean, half, late95, late99 = (load.alone_s + wait for wait in flow.waits_s)
    hidden = load.decode.compute_s + load.decode.memory_s
    worked = load.decode.gemm_s + load.decode.attention_s
    by_memory = worked * load.decode.memory_s / hidden
    return Service(
        ttft_s=mean,
        ttft_p50_s=half,
        ttft_p95_s=late95 + P95 * varies,
        ttft_p99_s=late99 + P99 * varies,
        tpot_s=load.tpot_s,
        itl_p50_s=load.itl_s,
        tpot_p95_s=load.tpot_s + (load.tpot_s - total / (1 + traffic.accepted_tok)) / 2,
        requests_per_s=requests,
        output_tok_per_s=requests * traffic.output_tok,
        running=flow.running,
        waiting_s=flow.waits_s[0],
        busy=flow.busy,
        step_s=total,
        prefill_s=load.prompt_s,
        memory_share=by_memory / total,
        compute_share=(worked - by_memory) / total,
        link_share=load.decode.link_s / total,
        fixed_share=load.decode.fixed_s / total,
        compute_busy=np.minimum(flow.per_s * load.compute_s, 1.0),
        work_busy=np.minimum(flow.per_s * load.work_s, 1.0),
    )
