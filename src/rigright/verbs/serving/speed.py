"""How fast a case is: the laws of time asked about one machine, its cards alike or not."""

from __future__ import annotations

import numpy as np

from rigright.base.record import dataclass
from rigright.choice.case import Case
from rigright.choice.work import SPEECH
from rigright.choice.work import work_of as work_named
from rigright.cost.memory_kv import transcribes
from rigright.cost.memory_serving import pool_tok
from rigright.cost.speed.dealt import Dealt
from rigright.cost.speed.rates import Rates, rates_of
from rigright.cost.speed.service import Limits, micro_seqs, serve
from rigright.cost.speed.step import Pass, StepTime, pipeline_gain, step
from rigright.cost.speed.told import at, tell
from rigright.cost.speed.work import Work, work_of
from rigright.demand import Layout, Numbers, Traffic
from rigright.facts.chips import Chip
from rigright.report.timed import Speed, TimeParts
from rigright.verbs.serving.cards import dealt_of, memories

OUTPUT_TOK = 512  # of a context, what is made where nobody says how long the prompt is
OUTPUT_SHARE = 0.25  # and never more of it than this


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    """Unlike chips, and what part of a pass their cards do: layers dealt out, or all wait for the slowest."""

    chips: tuple[Chip, ...]
    dealt: Dealt | None

    def time(self, values: Numbers) -> float:
        """One time of the whole from one a kind of chip."""
        found = np.broadcast_to(np.asarray(values, dtype=float), len(self.chips))
        return float(found.max() if self.dealt is None else found @ self.dealt.shares)

    def rate(self, values: Numbers) -> float:
        """The same for so much a second."""
        return 1 / self.time(1 / np.asarray(values, dtype=float))


def traffic_of(case: Case) -> Traffic:
    """The load a case tells of: its batch in flight, its context split into prompt and output."""
    serving = case.serving
    if case.traffic is not None:
        return case.traffic
    told = serving.prompt_tok
    output = max(serving.context_tok - told, 1) if told else _output_tok(serving.context_tok)
    prompt = max(min(told or serving.context_tok, serving.context_tok) - (0 if told else output), 1)
    return Traffic(prompt_tok=prompt, output_tok=output, concurrency=serving.batch)


def _output_tok(context_tok: int) -> int:
    return max(min(OUTPUT_TOK, int(context_tok * OUTPUT_SHARE)), 1)


def speed(case: Case, *, traffic: Traffic | None = None) -> Speed:
    """What users see of a case that fits, and where the time goes."""
    traffic = traffic or traffic_of(case)
    machine = _machine(case)
    work = work_of(case.arch, weights=case.serving.weights, kv=case.serving.kv)
    rates = rates_of(machine.chips, case.engine, weights=case.serving.weights)
    limits = _limits(case, traffic)
    if machine.dealt is not None:
        rates = machine.dealt.evened(rates, work=work, chunk_tok=_chunk_tok(traffic, limits))
    found = serve(work, rates, layout=case.layout, traffic=traffic, limits=limits)
    running = machine.rate(found.running)
    prompt = _prompt_pass(work, rates, layout=case.layout, traffic=traffic, limits=limits)
    token = _token_pass(work, rates, layout=case.layout, traffic=traffic, running=running)
    chunks = float(np.ceil(traffic.prompt_tok / _chunk_tok(traffic, limits)))
    gain = pipeline_gain(work, rates, cards=case.layout.pp, passes=chunks)
    seen = {
        "ttft_s": machine.time(found.ttft_s),
        "tpot_s": machine.time(found.tpot_s),
        "user_tok_per_s": 1 / machine.time(found.tpot_s),
        "output_tok_per_s": machine.rate(found.output_tok_per_s),
        "prefill_tok_per_s": float(traffic.prompt_tok) / machine.time(prompt.total_s / gain * chunks),
    }
    told = tell(seen, arch=case.arch, engine=case.engine, chips=machine.chips)
    audio_s = work_named(SPEECH, case.arch).audio_s if transcribes(case.arch) else None
    return Speed(
        audio_s=audio_s,
        audio_h_per_h=None
        if audio_s is None
        else at(told["output_tok_per_s"], told["output_tok_per_s"].value * audio_s / traffic.output_tok),
        prompt_tok=float(traffic.prompt_tok),
        output_tok=float(traffic.output_tok),
        concurrency=float(traffic.concurrency or running),
        running=running * case.layout.dp,
        token_pass=_parts(token, machine),
        prompt_pass=_parts(prompt, machine, times=chunks / gain),
        **told,
    )


def _machine(case: Case) -> _Machine:
    dealt = dealt_of(case)
    every = tuple({card.chip.id: card.chip for card in case.cards}.values())
    return _Machine(chips=every if dealt is None else dealt.chips, dealt=dealt)


def _limits(case: Case, traffic: Traffic) -> Limits:
    """What a replica holds and does in a pass; its cache counts tokens of such requests as come."""
    settings = case.settings
    tokens = int(traffic.prompt_tok + traffic.output_tok)
    usual = memories(case.over(context_tok=tokens, batch=int(case.layout.dp)))
    ranks = case.layout.tp if case.layout.attention_dp else 1
    return Limits(
        pool_tok=max(min(float(pool_tok(one, tokens)) for one in usual), 1.0) * ranks,
        max_seqs=max(float(settings.max_seqs), 1.0) * ranks,
        budget_tok=max(float(settings.budget_tok), 1.0),
    )


def _chunk_tok(traffic: Traffic, limits: Limits) -> float:
    return float(min(traffic.prompt_tok, limits.budget_tok))


def _prompt_pass(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic, limits: Limits) -> StepTime:
    """One pass of a prompt alone, in the middle of it."""
    chunk = _chunk_tok(traffic, limits)
    content = Pass(prefill_tok=chunk, prefill_seen_tok=traffic.prompt_tok / 2, prefill_seqs=1)
    return step(work, rates, layout=layout, content=content)


def _token_pass(work: Work, rates: Rates, *, layout: Layout, traffic: Traffic, running: float) -> StepTime:
    """A pass that makes the next token of everybody at work."""
    context = traffic.prompt_tok + traffic.output_tok / 2
    content = Pass(decode_seqs=micro_seqs(running, layout), decode_context_tok=context)
    return step(work, rates, layout=layout, content=content)


def _parts(time: StepTime, machine: _Machine, *, times: Numbers = 1.0) -> TimeParts:
    """Seconds by what they go into; what is worked counts by how long reading and computing would take."""
    worked = time.gemm_s + time.attention_s
    read = worked * time.memory_s / (time.memory_s + time.compute_s)
    return TimeParts(
        memory_s=machine.time(read * times),
        compute_s=machine.time((worked - read) * times),
        links_s=machine.time(time.link_s * times),
        fixed_s=machine.time(time.fixed_s * times),
    )
