"""Plans out of options: one option told as a record, with its memory, bands, supply and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.words import OF_PRICE, OLD_PRICE, Sentence, say, words_of
from rigright.choice.layout import is_staged
from rigright.choice.offload import ram_words
from rigright.choice.ways import reads_gguf
from rigright.cost.estimate import Estimate
from rigright.cost.layers import transcribes
from rigright.cost.memory.serving import ServingMemory, parts_of, serving_memory
from rigright.cost.weights import has_experts
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.engines import find_engine
from rigright.facts.hosts import CPU
from rigright.facts.units import sold_count
from rigright.money.tariff import usd_per_mtok
from rigright.predict.bands import at, case_of, tell
from rigright.predict.kept import TIMES, share_kept
from rigright.predict.room import stage_rooms
from rigright.search.figures import Limit, audio_of, certainties, drawn_w
from rigright.search.loads import SAFE_LOAD, SAFE_OUTPUT, traffic_of
from rigright.search.question import Kind, KindWay, Question
from rigright.search.record import Plan, Safe, Supply
from rigright.search.score import Scored, context_tok
from rigright.search.supply import Options, nodes_of, supply_of
from rigright.terms.memory import away, device_of, started, weigh, widened
from rigright.terms.memory import band as memory_band

BANDED = ("ttft_s", "tpot_s", "output_tok_per_s", "requests_per_s")
SHARES = {
    "memory": "memory_share", "compute": "compute_share", "links": "link_share", "fixed": "fixed_share",
}  # fmt: skip
BUSY = 0.85  # share of its capacity that a service is run at, so that queues stay short
QUEUED = 0.98  # share of the room for sequences in use, above which the cache is what limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Everything a search worked out: layouts, options and their figures."""

    question: Question
    scored: Any  # of layouts that serve, or that train
    options: Options
    figures: dict[str, Numbers]


def plan_of(
    table: Candidates, place: int, *, best_at: Sequence[str] = (), limits: Sequence[Limit] = ()
) -> Plan:
    """One option as a plan; `limits`: what it is held against."""
    question, points = table.question, table.scored.points
    point = int(table.options.index[place])
    way, kind = question.ways[int(points.way[point])], question.kinds[int(points.kind[point])]
    layout, prefill = layout_at(table.scored, point), _prefill_at(table.scored, point)
    n_chips = int(points.n_chips[point])
    serving, memory = fitted(question, kind, serving=serving_at(table, point, way=way), layout=layout)
    supply = supply_of(
        question, kind, how=int(table.options.how[place]), n_chips=n_chips, replica=int(points.replica[point])
    )
    load = float(points.load[point])
    figures = _figures(table, place, kind=kind, way=way, supply=supply)
    plan = Plan(
        chip=kind.chip,
        n_chips=n_chips,
        n_nodes=nodes_of(kind, supply, n_chips=n_chips, replica=int(points.replica[point])),
        layout=layout,
        work=serving,
        concurrency=None if np.isnan(load) else load,
        ranks=memory,
        rank_bytes=rank_bytes_of(memory[0], wider=widened(away(way.engine, kind.chip.id))),
        room_bytes=float(device_of(kind.card, way.engine).free_bytes),
        total_bytes=float(device_of(kind.card, way.engine).total_bytes),
        figures=figures,
        held=_shares_kept(table, point),
        certainty=certainties(limits, figures=figures),
        safe=safe_at(table, point),
        machines_needed=_needed(table, point, figures=figures),
        supply=supply,
        bound=_bound(table.scored, point),
        reasons=reasons_of(best_at),
        notes=(
            *notes_of(supply, kind, n_chips=n_chips),
            *_untried(prefill),
            *_heard_in(question.arch, way),
        ),
        host=kind.host if way.offload is not None else None,
        in_ram=None
        if way.offload is None
        else ram_words(question.arch, way.offload, engine=way.engine, batch_tok=way.budget_tok),
        drafts=way.drafts,
        prefill=prefill,
        prefill_memory=_prompts(question, kind, serving=serving, prefill=prefill),
        has_experts=has_experts(question.arch),
    )
    traffic = traffic_of(question, load, way=way)
    if not (question.wish.drafting or question.wish.kv_store) and traffic.think_s is None:
        return plan
    from rigright.search.load_notes import load_notes  # which most plans need not
    from rigright.search.record import case_of as planned

    case = replace(planned(question.arch, plan), traffic=traffic)
    return replace(plan, notes=(*load_notes(case, question.wish), *plan.notes))


def _shares_kept(table: Candidates, point: int) -> dict[str, float]:
    """By limit of time that somebody named: the share of requests that keep it."""
    wish = table.question.wish
    served = {name: column[point : point + 1] for name, column in table.scored.served.items()}
    bounds = {name: getattr(wish, name) for name in TIMES}
    return {
        name: float(share_kept(served, name, bound=bound)[0])
        for name, bound in bounds.items()
        if bound is not None
    }


def safe_at(table: Candidates, point: int) -> Safe | None:
    """The highest load that keeps every limit of time in nine cases of ten, where none was told."""
    load, output = (float(table.scored.served[name][point]) for name in (SAFE_LOAD, SAFE_OUTPUT))
    if np.isnan(load):
        return None
    own = float(table.scored.points.load[point])
    if load > own:  # a plan that runs below what is safe is safe as it runs
        load, output = own, float(table.scored.served["output_tok_per_s"][point])
    return Safe(concurrency=load, output_tok_per_s=output)


def _needed(table: Candidates, point: int, *, figures: Mapping[str, Estimate]) -> int | None:
    """How many times these machines carry the rate that was asked for, where they do not."""
    wish, busy = table.question.wish, float(table.scored.served["busy"][point])
    if wish.rate_per_s is None or "requests_per_s" not in figures or not np.isfinite(busy) or busy < 1:
        return None
    return int(np.ceil(busy / BUSY))


def layout_at(scored: Scored, point: int) -> Layout:
    """The layout of one point."""
    points = scored.points
    return Layout(
        tp=int(points.tp[point]), pp=int(points.pp[point]), dp=int(points.dp[point]),
        ep=int(points.ep[point]), attention_dp=bool(points.attention_dp[point]),
    )  # fmt: skip


def _prefill_at(scored: Scored, point: int) -> Layout | None:
    """The workers of one point that take prompts alone, where there are any."""
    points = scored.points
    tp, dp = int(points.prefill_tp[point]), int(points.prefill_dp[point])
    if not dp:
        return None
    spread = bool(points.attention_dp[point])
    return Layout(tp=tp, dp=dp, ep=tp if points.ep[point] > 1 else 1, attention_dp=spread)


def _prompts(
    question: Question, kind: Kind, *, serving: Serving, prefill: Layout | None
) -> ServingMemory | None:
    """Memory of a rank that takes prompts alone, with one of them."""
    if prefill is None:
        return None
    item = replace(serving, batch=prefill.dp * (prefill.tp if prefill.attention_dp else 1))
    return _memories_of(question.arch, kind, serving=item, layout=prefill)[0]


def _heard_in(arch: Arch, way: KindWay) -> Iterator[Sentence]:
    if transcribes(arch) and reads_gguf(way.engine):
        yield say("runs in whisper.cpp, timed as {engine}: both use ggml", engine=way.engine.label)


def _untried(prefill: Layout | None) -> Iterator[Sentence]:
    if prefill is not None:
        yield say("prefill and decode on separate GPUs: few TTFT benchmarks exist")


def serving_at(table: Candidates, point: int, *, way: KindWay) -> Serving:
    """The serving of one point, set up for what runs at once, over all replicas."""
    dp = int(table.scored.points.dp[point])
    number = int(table.scored.served["held"][point])
    return way.serving(
        context_tok=context_tok(table.question), batch=number * dp, prompt_tok=table.question.wish.prompt_tok
    )


def fitted(
    question: Question, kind: Kind, *, serving: Serving, layout: Layout
) -> tuple[Serving, tuple[ServingMemory, ...]]:
    """The serving with as many sequences as surely fit, at most those it has: found by halving."""
    memories = _memories_of(question.arch, kind, serving=serving, layout=layout)
    least, most = 1, serving.batch // layout.dp  # of one replica
    if memories[0].fits or most <= least:
        return serving, memories
    while most - least > 1:
        middle = (least + most) // 2
        tried = replace(serving, batch=middle * layout.dp)
        result = _memories_of(question.arch, kind, serving=tried, layout=layout)
        least, most = (middle, most) if result[0].fits else (least, middle)
    serving = replace(serving, batch=least * layout.dp)
    return serving, _memories_of(question.arch, kind, serving=serving, layout=layout)


def _memories_of(arch: Arch, kind: Kind, *, serving: Serving, layout: Layout) -> tuple[ServingMemory, ...]:
    """Memory of unlike ranks, the one with least to spare first."""
    engine = find_engine(serving.engine)
    if engine.split == "layer":
        cards = kind.mix or (kind.card,) * layout.pp
        memories = stage_rooms(arch, cards=cards, serving=serving, layout=layout)
        return tuple(sorted(memories, key=lambda memory: float(memory.spare_bytes)))
    device, weights = device_of(kind.card, engine), weigh(arch, serving.weights)
    return (serving_memory(arch, weights, start=started(serving), layout=layout, device=device),)


def rank_bytes_of(memory: ServingMemory, *, wider: float = 1.0) -> Estimate:
    """The fullest rank, with its band."""
    used = float(memory.need_bytes + memory.slack_bytes)
    low, high = memory_band("device", used, parts=parts_of(memory), wider=wider)
    return Estimate(value=used, low=float(low), high=float(high))


def _figures(
    table: Candidates, place: int, *, kind: Kind, way: KindWay, supply: Supply
) -> dict[str, Estimate]:
    fields = {name: float(column[place]) for name, column in table.figures.items()}
    served = {name: fields[name] for name in BANDED}
    apart = bool(table.scored.points.prefill_dp[table.options.index[place]])
    alone = kind.chip.vendor == CPU
    host = kind.host if way.offload is not None or alone else None
    arch = table.question.arch
    point = table.options.index[place]
    load, cards = (float(column[point]) for column in (table.scored.points.load, table.scored.points.n_chips))
    case = case_of(traffic_of(table.question, load, way=way), way.weights, chips=cards)
    case = replace(case, apart=apart, staged=bool(is_staged(way.engine.split, table.scored.points.pp[point])))
    bands = tell(served, arch=arch, engine=way.engine, chips=kind.chips, host=host, case=case)
    estimates = {name: at(estimate, served[name]) for name, estimate in bands.items()}
    free = fields["headroom"]
    estimates |= {
        "headroom": Estimate(value=free, low=free, high=free, mark="physics"),
        "power_w": power_of(table, place),
    }
    estimates |= money_of(fields, speed=estimates, supply=supply)
    audio_s = table.question.usual.audio_s
    return {
        name: estimate
        for name, estimate in (estimates | ({} if audio_s is None else _audio(estimates, audio_s))).items()
        if np.isfinite(estimate.value)
    }  # fmt: skip


def _audio(estimates: Mapping[str, Estimate], audio_s: float) -> dict[str, Estimate]:
    """Hours of audio with the band of the rate; of an hour's cost also with that of its price."""
    rate, hour = estimates["requests_per_s"], estimates["usd_per_h"]
    ends = [
        audio_of(value, audio_s, usd_per_h=usd)
        for value, usd in ((rate.value, hour.value), (rate.low, hour.high), (rate.high, hour.low))
    ]
    hours, usd = ([float(end[name]) for end in ends] for name in ("audio_h_per_h", "usd_per_audio_h"))
    return {
        "audio_h_per_h": Estimate(value=hours[0], low=hours[1], high=hours[2], mark=rate.mark),
        "usd_per_audio_h": Estimate(value=usd[0], low=usd[2], high=usd[1], mark="stated", as_of=hour.as_of),
    }


def power_of(table: Candidates, place: int) -> Estimate:
    """What one option draws."""
    options = table.options.take(np.array([place]))
    drawn = drawn_w(table.question, table.scored, options=options)
    return Estimate(value=float(drawn.value[0]), low=float(drawn.low[0]), high=float(drawn.high[0]))


def money_of(
    fields: Mapping[str, float], *, speed: Mapping[str, Estimate], supply: Supply
) -> dict[str, Estimate]:
    """Money with the band of its prices; a token's also with that of the speed."""
    least, most = supply.price_band
    estimates = {
        name: Estimate(
            value=fields[name], low=fields[name] * least, high=fields[name] * most,
            mark="stated", as_of=supply.as_of,
        )
        for name in ("usd", "usd_per_h", "usd_total")
    }  # fmt: skip
    if "days" in fields:
        rate = speed["output_tok_per_s"]
        estimates |= _job(fields, rate=rate, whole=estimates["usd_total"], supply=supply)
    hour, rate = estimates["usd_per_h"], speed["output_tok_per_s"]
    estimates["usd_per_mtok"] = Estimate(
        value=fields["usd_per_mtok"],
        low=float(usd_per_mtok(hour.low, rate.high)),
        high=float(usd_per_mtok(hour.high, rate.low)),
        mark="stated",
        as_of=supply.as_of,
    )
    return (
        estimates
        if supply.how == "buy"
        else {name: estimate for name, estimate in estimates.items() if name != "usd"}
    )


def _job(
    fields: Mapping[str, float], *, rate: Estimate, whole: Estimate, supply: Supply
) -> dict[str, Estimate]:
    """How long requests that end take, with the band of the speed; the sum has it where hours are paid."""
    days, ends = fields["days"], (rate.value / rate.high, rate.value / rate.low)
    slow = (1.0, 1.0) if supply.how == "buy" else ends
    return {
        "days": Estimate(value=days, low=days * ends[0], high=days * ends[1], mark=rate.mark),
        "usd_total": replace(whole, low=whole.low * slow[0], high=whole.high * slow[1]),
    }


def _bound(scored: Scored, point: int) -> str:
    """What limits it: prompts or the cache where the load queues for them, else most of a pass."""
    served, points = scored.served, scored.points
    workers = float(points.prefill_dp[point] * np.where(points.attention_dp, points.prefill_tp, 1)[point])
    if workers and float(served["requests_per_s"][point] * served["prefill_s"][point]) >= QUEUED * workers:
        return "prompts"
    if float(scored.served["busy"][point]) >= QUEUED and float(scored.served["waiting_s"][point]) > 0:
        return "cache"
    return max(SHARES, key=lambda name: float(scored.served[SHARES[name]][point]))


def notes_of(supply: Supply, kind: Kind, *, n_chips: int) -> Iterator[Sentence]:
    """What has to be told of a supply: what is bought beside what is there, and how old its price is."""
    if supply.how == "own":
        return
    if kind.owned and supply.how == "buy":
        yield say("{more} more GPUs beside the {owned} you have", more=n_chips - kind.owned, owned=kind.owned)
    if kind.whole and supply.how == "buy" and (supply.n_chips or 0) > kind.whole + len(kind.beside):
        yield say("priced as {machine}: sold {count} at a time", machine=supply.label,
                  count=sold_count(kind.chip, 1))  # fmt: skip
    yield from price_notes(used=supply.used, as_of=supply.as_of, stale=supply.stale)


def price_notes(*, used: bool, as_of: str | None, stale: bool) -> Iterator[Sentence]:
    """What has to be told of a price."""
    if used:
        yield say("used cards carry no warranty").of(OF_PRICE)
    if as_of is None:
        yield say("no price known: ranked last").of(OF_PRICE)
    elif stale:
        yield say("prices as of {date}; verify before buying", date=as_of).of(OLD_PRICE)


def reasons_of(best_at: Sequence[str]) -> tuple[Sentence, ...]:
    """What a plan is best at, in words."""
    return tuple(reason for name, reason in words_of("best_at").items() if name in best_at)
