"""How fast a case is: the laws of time asked about one machine, its cards alike or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rigright.base.record import replace
from rigright.choice.case import Case
from rigright.choice.layout import is_staged
from rigright.choice.work import SPEECH
from rigright.choice.work import work_of as work_named
from rigright.cost.estimate import Estimate
from rigright.cost.layers import transcribes
from rigright.cost.speed.pipeline import micro_seqs
from rigright.cost.speed.service import Service
from rigright.cost.speed.step import Pass, StepTime
from rigright.demand import Numbers, Traffic
from rigright.facts.hosts import CPU
from rigright.predict.bands import at, case_of, tell
from rigright.predict.cases import group_of
from rigright.predict.kept import TIMES, at_percentile, chance_of, columns_of, share_kept
from rigright.predict.served import prompt_alone, served, token_pass
from rigright.predict.timed import Speed, TimeParts

if TYPE_CHECKING:
    from rigright.cost.speed.apart import Apart

OUTPUT_TOK = 512  # of a context, what is made where nobody says how long the prompt is
OUTPUT_SHARE = 0.25  # and never more of it than this


def traffic_of(case: Case) -> Traffic:
    """The load a case tells of: its batch in flight, its context split into prompt and output."""
    serving = case.serving
    if case.traffic is not None:
        return case.traffic
    value = serving.prompt_tok
    output = max(serving.context_tok - value, 1) if value else _output_tok(serving.context_tok)
    prompt = max(min(value or serving.context_tok, serving.context_tok) - (0 if value else output), 1)
    return Traffic(prompt_tok=prompt, output_tok=output, concurrency=serving.batch)


def _output_tok(context_tok: int) -> int:
    return max(min(OUTPUT_TOK, int(context_tok * OUTPUT_SHARE)), 1)


def speed(case: Case, *, traffic: Traffic | None = None) -> Speed:
    """What users see of a case that fits, and where the time goes."""
    traffic, layout = traffic or traffic_of(case), case.layout
    group = group_of(replace(case, traffic=traffic))
    replicas, machine = group.replicas, group.reached()
    limits = replicas.limits
    work, rates, chips = machine.work, machine.whole, machine.chips
    host = case.host if rates.host is not None or chips[0].vendor == CPU else None
    service, _ = served(replicas, work=work, rates=rates)
    running = _least(service.running)
    alone = Pass(prefill_tok=traffic.prompt_tok, prefill_seqs=1)
    prompt = prompt_alone(work, rates, layout=layout, prompt=alone, budget_tok=limits.budget_tok)
    token = token_pass(
        work, rates, layout=layout, seqs=micro_seqs(running, layout, rates=rates),
        context_tok=traffic.prompt_tok + traffic.output_tok / 2, drafted_tok=traffic.drafted_tok,
    )  # fmt: skip
    seen = {
        "ttft_s": _most(service.ttft_s),
        "tpot_s": _most(service.tpot_s),
        "user_tok_per_s": 1 / _most(service.tpot_s),
        "output_tok_per_s": _least(service.output_tok_per_s),
        "prefill_tok_per_s": float(traffic.prompt_tok) / _most(prompt.total_s),
    }
    asked = case_of(
        traffic,
        case.serving.weights,
        chips=layout.tp * layout.pp * layout.dp,
        staged=bool(is_staged(case.engine.split, layout.pp)),
    )
    estimates = tell(seen, arch=case.arch, engine=case.engine, chips=chips, host=host, case=asked)
    if case.percentile is not None:
        estimates |= _late(service, estimates, percentile=case.percentile)
    audio_s = work_named(SPEECH, case.arch).audio_s if transcribes(case.arch) else None
    return Speed(
        audio_s=audio_s,
        audio_h_per_h=None
        if audio_s is None
        else at(
            estimates["output_tok_per_s"], estimates["output_tok_per_s"].value * audio_s / traffic.output_tok
        ),
        prompt_tok=float(traffic.prompt_tok),
        output_tok=float(traffic.output_tok),
        concurrency=float(traffic.concurrency or running),
        rate_per_s=traffic.rate_per_s,
        percentile=case.percentile,
        shares_kept=_shares_kept(service, case.most_s),
        certainty={name: chance_of(estimates[name], bound=bound) for name, bound in case.most_s},
        running=running * layout.dp,
        token_pass=_parts(token),
        prompt_pass=_parts(prompt.step, times=prompt.times),
        **estimates,
    )


def _shares_kept(service: Service | Apart, most_s: tuple[tuple[str, float], ...]) -> dict[str, float]:
    """By limit: the share of requests that keep it."""
    columns = columns_of(service) if most_s else {}
    return {name: _least(share_kept(columns, name, bound=bound)) for name, bound in most_s}


def _late(
    service: Service | Apart, estimates: Mapping[str, Estimate], *, percentile: float
) -> dict[str, Estimate]:
    """What such a share of requests keeps, in place of the mean."""
    columns = columns_of(service)
    later = {
        name: _most(at_percentile(columns, name, percentile=percentile)) / _most(columns[name])
        for name in TIMES
    }
    times = {**later, "user_tok_per_s": 1 / later["tpot_s"]}
    return {name: at(estimates[name], estimates[name].value * ratio) for name, ratio in times.items()}


def _most(values: Numbers) -> float:
    """One time of the whole from one a kind of chip: all wait for the slowest."""
    return float(np.max(values))


def _least(values: Numbers) -> float:
    """The same for so much a second."""
    return float(np.min(values))


def _parts(time: StepTime, *, times: Numbers = 1.0) -> TimeParts:
    """Seconds by what they go into; what is worked counts by how long reading and computing would take."""
    worked = time.gemm_s + time.attention_s
    read = worked * time.memory_s / (time.memory_s + time.compute_s)
    return TimeParts(
        memory_s=_most(read * times),
        compute_s=_most((worked - read) * times),
        links_s=_most(time.link_s * times),
        fixed_s=_most(time.fixed_s * times),
    )
