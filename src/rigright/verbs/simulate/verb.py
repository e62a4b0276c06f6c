"""`simulate`: a load played request by request on a machine."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from math import isfinite
from typing import NamedTuple

import numpy as np

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.files import safe_cell, save_text
from rigright.base.record import Flat, Inner, derived
from rigright.base.words import Sentence, say, worded
from rigright.choice.case import Case
from rigright.choice.layout import is_staged
from rigright.choice.work import SPEECH, seen_with, works
from rigright.choice.work import traffic_of as sent
from rigright.cost.estimate import Estimate
from rigright.cost.layers import generates, transcribes
from rigright.demand import Layout, PlanWish, Serving, ServingWish
from rigright.facts.anchors import RunCase
from rigright.facts.nodes import Node
from rigright.predict.bands import tell
from rigright.predict.kept import chance_of
from rigright.search.single import single
from rigright.sim.fleet import ReplicaFleet
from rigright.sim.load import CLOSED, Arrivals, Load, Trace, hashed_trace, made_load, read_trace
from rigright.sim.tally import Moments, Tally, Targets, moments_of, tally
from rigright.verbs.runs.files import read_text
from rigright.verbs.seen.here import the_node
from rigright.verbs.simulate.replicas import ENDLESS_BLOCKS, life_s, play_case, policy_of
from rigright.verbs.simulate.setup import PlayWish, check, read_setup, refuse_both


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """The same figures as they were measured, where the trace tells them."""

    requests: int
    ttft_s: float
    tpot_s: float
    ttft_error: float  # of the mean: simulated over measured, less one
    tpot_error: float
    request_ttft_error: float  # half of the requests are nearer
    request_tpot_error: float


class Means(NamedTuple):
    """Of all requests, with their bands."""

    ttft_s: Estimate  # to the first token
    tpot_s: Estimate  # from token to token
    output_tok_per_s: Estimate  # of all users


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """One load on one machine, played request by request."""

    model: str
    machine: str
    engine: str
    engine_version: str
    weights_format: str
    kv: str
    policy: str
    serving: Serving  # with what the engine was started for
    layout: Layout
    replicas: int
    prefill_workers: int
    router: str
    pool_tok: int | None  # of one replica; None: nothing grows
    max_seqs: int
    budget_tok: int
    load: Sentence  # in words
    tally: Flat[Tally]
    targets: Targets
    ttft_s: Inner[Estimate]  # means, with their bands
    tpot_s: Inner[Estimate]
    output_tok_per_s: Inner[Estimate]
    audio_h_per_h: float | None = None  # of what transcribes, hours of sound in an hour
    certainty: Mapping[str, float] = field(default_factory=dict)  # by target: the chance that it is met
    rate_per_s: Inner[float | None] = None  # that arrive; None: a closed loop, or a trace
    binds: tuple[Sentence, ...]
    against: Against | None = None
    wrote: Inner[str | None] = None
    notes: tuple[Sentence, ...] = ()
    asked: Inner[str] = ""

    @derived
    def means(self) -> Means:
        """Of all requests, with their bands."""
        return Means(self.ttft_s, self.tpot_s, self.output_tok_per_s)


HEADER = ("request", "first_token_s", "last_token_s")


def _requests_csv(trace: Trace | None, moments: Moments) -> str:
    """One line a request, in the order of the file; empty where it was not served."""
    count = len(moments.first_s) if trace is None else len(trace.names)
    places = slice(None) if trace is None else trace.places
    by_row = np.full((2, count), np.nan)
    by_row[:, places] = moments.first_s, moments.last_s
    names = repeat(None) if trace is None else trace.names
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows(
        (str(row) if name is None else safe_cell(name), _moment(by_row[0, row]), _moment(by_row[1, row]))
        for row, name in zip(range(count), names, strict=False)
    )
    return out.getvalue()


def _moment(value: float) -> str:
    return f"{value:.6f}" if isfinite(value) else ""


FULL, CROWDED = 0.97, 0.5  # of the cache or the time in use; requests that wait for each that is at work
SATURATED = 0.97  # of the time at work


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """Where it is served."""

    case: Case
    node: Node
    notes: tuple[Sentence, ...] = ()


def simulate(
    model: str | None = None,
    on: str | None = None,
    *,
    wish: ServingWish | None = None,
    load: PlayWish | None = None,
    out: str | None = None,
    asked: str = "",
) -> Simulated:
    """Play a trace or a load that is made up; `out` names a file for each request's tokens."""
    load = load or PlayWish()
    if load.setup is None and model is not None:
        _refuse_textless(model, on)
    check(load)
    place = _place(model, on, wish=wish or ServingWish(), load=load)
    if transcribes(place.case.arch) and place.case.traffic is not None:  # windows have a length of their own
        sent = place.case.traffic
        load = replace(load, prompt_tok=int(sent.prompt_tok), output_tok=int(sent.output_tok))
    trace = _trace(load)
    requests = _made(load, place.case) if trace is None else trace.load
    fleet, played = play_case(place.case, requests, wish=load)
    targets = Targets(ttft_s=load.ttft_s, tpot_s=load.tpot_s, percentile=load.percentile)
    counted = tally(requests, played, targets=targets)
    simulated = replace(
        _simulated(place, fleet, load=load, counted=counted, requests=requests),
        targets=targets,
        certainty=_certainty(place.case, counted, load=load),
    )
    if trace is not None:
        simulated = replace(
            simulated, against=_against(trace, moments_of(played)), notes=(*simulated.notes, *trace.notes)
        )
    if out is not None:
        save_text(out, _requests_csv(trace, moments_of(played)))
    return replace(simulated, wrote=out, asked=asked)


def _refuse_textless(model: str, on: str | None) -> None:
    """What makes no text is done a sample at a time: `explain` has all there is to say."""
    arch = open_model(model)
    if not generates(arch):
        asked = shlex.join(["rigright", "explain", model, *(() if on is None else ("--on", on))])
        raise AskError(
            say("`simulate` plays text generation, and {model} generates no text", model=arch.name),
            hint=say("for its throughput: {command}", command=asked),
        )


def _place(model: str | None, on: str | None, *, wish: ServingWish, load: PlayWish) -> _Server:
    notes: tuple[Sentence, ...] = ()
    limit = None
    if load.setup is not None:
        refuse_both(model=model, machine=on)
        setup = read_setup(load.setup)
        model, on, wish, notes, limit = (
            setup.model, setup.machine, setup.wish, setup.notes, setup.max_context_tok,
        )  # fmt: skip
    if model is None or on is None:
        raise AskError(say("give a model and --on MACHINE, or --trace with --setup"))
    node = the_node(on)
    arch = open_model(model)
    arch = seen_with(arch, wish.images)
    work = _work(load)
    work = replace(work, prompt_tok=None, output_tok=None) if transcribes(arch) else work
    case = single(arch, node, wish=wish, work=work).case
    if case.engine.pool != "share":  # such an engine sets aside what was asked for
        case = case.over(batch=wish.max_seqs or case.serving.batch)
    if limit is not None:
        arch = replace(arch, max_context_tok=min(limit, arch.max_context_tok or limit))
        case = replace(case, arch=arch)
    return _Server(case=case, node=node, notes=(*notes, *case.notes))


def _work(load: PlayWish) -> PlanWish:
    """The load as a question of the search, which decides what nobody said."""
    return PlanWish(
        work="serve",
        prompt_tok=load.prompt_tok,
        output_tok=load.output_tok,
        cached_share=load.cached_share or None,
        users=None if load.concurrency is None else float(load.concurrency),
        rate_per_s=load.rate_per_s,
        ttft_s=load.ttft_s,
        tpot_s=load.tpot_s,
        percentile=load.percentile,
    )


def _trace(load: PlayWish) -> Trace | None:
    if load.trace is None:
        return None
    text = read_text(load.trace)
    read = hashed_trace if text.text.lstrip()[:1] == "{" else read_trace
    return read(text.lines, text.name)


def _made(load: PlayWish, case: Case) -> Load:
    prompt = load.prompt_tok + case.arch.image_tok
    wish = PlanWish(
        prompt_tok=prompt, output_tok=load.output_tok, rate_per_s=load.rate_per_s,
        cached_share=load.cached_share or None, turns=load.turns, think_s=load.think_s or None,
        shared_tok=load.shared_tok,
    )  # fmt: skip
    traffic = replace(
        sent(wish, load.concurrency), prompt_spread=load.prompt_spread, output_spread=load.output_spread
    )
    process = Arrivals(
        kind=load.process,
        spread=load.gap_spread,
        burst=load.burst,
        period_s=load.period_s,
        think_s=load.think_s,
        life_s=life_s(case, traffic) if load.process == CLOSED else 0.0,
    )
    return made_load(traffic, count=load.count, process=process, seed=load.seed)


def _simulated(
    place: _Server, fleet: ReplicaFleet, *, load: PlayWish, counted: Tally, requests: Load
) -> Simulated:
    case, shop = place.case, fleet.shop
    endless = shop.blocks >= ENDLESS_BLOCKS
    bands = _banded(
        case,
        ttft_s=counted.ttft_s.mean,
        tpot_s=counted.tpot_s.mean,
        output_tok_per_s=counted.output_tok_per_s,
    )
    return Simulated(
        model=case.arch.name,
        machine=place.node.shown,
        engine=case.engine.label,
        engine_version=case.engine.version,
        weights_format=case.serving.weights,
        kv=case.serving.kv,
        policy=policy_of(case.engine, load.policy),
        serving=case.over(max_seqs=shop.max_seqs, budget_tok=shop.budget_tok).serving,
        layout=case.layout,
        replicas=fleet.replicas,
        prefill_workers=fleet.prefill_replicas,
        router=fleet.router,
        pool_tok=None if endless else shop.blocks * shop.block_tok,
        max_seqs=shop.max_seqs,
        budget_tok=shop.budget_tok,
        load=_load_words(load, requests),
        rate_per_s=None if load.trace is not None or load.is_loop else load.rate_per_s,
        tally=counted,
        targets=Targets(),
        audio_h_per_h=counted.requests_per_s * (works()[SPEECH].audio_s or 0.0)
        if transcribes(case.arch)
        else None,
        ttft_s=bands["ttft_s"],
        tpot_s=bands["tpot_s"],
        output_tok_per_s=bands["output_tok_per_s"],
        binds=binds(counted, fleet, closed=load.is_loop),
        notes=place.notes,
    )


def _banded(case: Case, **figures: float) -> dict[str, Estimate]:
    """Figures with the bands that people are told of such a case."""
    chips = tuple({card.chip.id: card.chip for card in case.cards}.values())
    staged = RunCase(staged=bool(is_staged(case.engine.split, case.layout.pp)))
    return tell(figures, arch=case.arch, engine=case.engine, chips=chips, case=staged)


def _certainty(case: Case, counted: Tally, *, load: PlayWish) -> dict[str, float]:
    """By target: the chance that it is met, by the band of its figure."""
    bounds = {"ttft_s": load.ttft_s, "tpot_s": load.tpot_s}
    reached = {"ttft_s": counted.ttft_reached_s, "tpot_s": counted.tpot_reached_s}
    bands = _banded(case, **reached)
    return {
        name: chance_of(bands[name], bound=bound)
        for name, bound in bounds.items()
        if bound is not None and counted.served
    }


def _load_words(load: PlayWish, requests: Load) -> Sentence:
    if load.trace is not None:
        return say("{count} requests from the trace", count=f"{requests.count:,}")
    fields = {
        "count": f"{requests.count:,}",
        "prompt": f"{load.prompt_tok:,}",
        "output": f"{load.output_tok:,}",
    }
    if load.is_loop:
        return say("{count} requests, concurrency {users}, {prompt} prompt + {output} output tokens",
                   users=load.concurrency, **fields)  # fmt: skip
    return say("{count} requests, {rate}/s ({kind}), {prompt} prompt + {output} output tokens",
               rate=f"{load.rate_per_s:.3g}", kind=worded("arrivals")(load.process), **fields)  # fmt: skip


def binds(counted: Tally, fleet: ReplicaFleet, *, closed: bool = True) -> tuple[Sentence, ...]:
    """What holds the load back, or that nothing does: what arrives at a rate and hardly waits is not held."""
    sentences = []
    seats = fleet.shop.max_seqs * fleet.replicas
    waited = counted.queue_s.p90 > CROWDED * max(counted.ttft_s.p90, 1e-9)
    if counted.preempted:
        sentences.append(say("KV cache runs out: {count} preemptions",
                         count=f"{counted.preempted:,}"))  # fmt: skip
    elif waited and counted.cache_most > FULL:
        sentences.append(say("KV cache full: requests queue"))
    if waited and max((moment.running for moment in counted.timeline), default=0.0) > FULL * seats:
        sentences.append(say("all {slots} slots taken: requests queue", slots=f"{seats:,}"))
    if waited and not sentences:
        sentences.append(say("prefill is the bottleneck: prompts arrive faster than they are processed"))
    if counted.refused:
        sentences.append(say("{count} requests refused: too long for the KV cache or the model",
                         count=f"{counted.refused:,}"))  # fmt: skip
    if not sentences:
        is_full = closed and counted.busy_share >= SATURATED
        sentences.append(say("GPU saturated") if is_full else say("no bottleneck"))
    return tuple(sentences)


def _against(trace: Trace, moments: Moments) -> Against | None:
    """Errors, where the trace tells what was measured."""
    load = trace.load
    ok = np.isfinite(trace.first_s) & np.isfinite(trace.last_s) & np.isfinite(moments.last_s)
    ok &= (load.output_tok > 1) & (trace.first_s > load.arrival_s) & (trace.last_s > trace.first_s)
    if not ok.any():
        return None
    more = (load.output_tok - 1)[ok]
    ttft, own_ttft = (trace.first_s - load.arrival_s)[ok], moments.ttft_s[ok]
    tpot, own_tpot = (trace.last_s - trace.first_s)[ok] / more, (moments.last_s - moments.first_s)[ok] / more
    return Against(
        requests=int(ok.sum()),
        ttft_s=float(ttft.mean()),
        tpot_s=float(tpot.mean()),
        ttft_error=float(own_ttft.mean() / ttft.mean() - 1),
        tpot_error=float(own_tpot.mean() / tpot.mean() - 1),
        request_ttft_error=float(np.median(np.abs(own_ttft / ttft - 1))),
        request_tpot_error=float(np.median(np.abs(own_tpot / tpot - 1))),
    )
