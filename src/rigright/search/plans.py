"""Plans out of options: one option told as a record, with its memory, bands, supply and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.units import show_bytes
from rigright.base.words import Sentence, say
from rigright.cost.estimate import Estimate
from rigright.cost.memory_bands import band as memory_band
from rigright.cost.memory_device import device_of
from rigright.cost.memory_serving import ServingMemory, serving_memory
from rigright.cost.money import usd_per_mtok
from rigright.cost.prices import price_width
from rigright.cost.speed.told import at, tell
from rigright.cost.weights import weigh
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.engines import find_engine
from rigright.search.drafts import head_bytes
from rigright.search.figures import drawn_w
from rigright.search.question import Kind, Question, Way
from rigright.search.record import Plan, Supply
from rigright.search.room import engine_name, stage_rooms
from rigright.search.score import Scored, context_tok
from rigright.search.supply import Options, Prices, supply_of

BANDED = ("ttft_s", "tpot_s", "output_tok_per_s", "requests_per_s")
SHARES = {
    "memory": "memory_share", "compute": "compute_share", "links": "link_share", "fixed": "fixed_share",
}  # fmt: skip
QUEUED = 0.98  # share of the room for sequences in use, above which the cache is what limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Everything a search worked out: layouts, options and their figures."""

    question: Question
    scored: Any  # of layouts that serve, or that train
    prices: Prices
    options: Options
    figures: dict[str, Numbers]


def plan_of(table: Table, place: int, *, best_at: Sequence[str] = ()) -> Plan:
    """One option as a plan."""
    question, points = table.question, table.scored.points
    point = int(table.options.index[place])
    way, kind = question.ways[int(points.way[point])], question.kinds[int(points.kind[point])]
    layout, prefill = layout_at(table.scored, point), prefill_at(table.scored, point)
    n_chips = int(points.n_chips[point])
    serving, memory = _fitted(question, kind, serving=serving_at(table, point, way=way), layout=layout)
    supply = supply_of(
        question,
        kind,
        how=int(table.options.how[place]),
        n_chips=n_chips,
        replica=int(points.replica[point]),
    )
    load = float(points.load[point])
    return Plan(
        chip=kind.chip,
        n_chips=n_chips,
        n_nodes=-(-n_chips // kind.per_node),
        layout=layout,
        work=serving,
        concurrency=None if np.isnan(load) else load,
        memory=memory,
        rank_bytes=rank_bytes_of(memory[0]),
        room_bytes=float(device_of(kind.card, way.engine).free_bytes),
        figures=_figures(table, place, kind=kind, way=way, supply=supply),
        supply=supply,
        bound=_bound(table.scored, point),
        reasons=reasons_of(best_at),
        notes=(
            *notes_of(supply, kind, n_chips=n_chips),
            *_untried(prefill),
            *_drafting(question.arch, way, layout=layout),
        ),
        drafts=way.drafts,
        prefill=prefill,
        prefill_memory=_prompts(question, kind, serving=serving, prefill=prefill),
    )


def layout_at(scored: Scored, point: int) -> Layout:
    """The layout of one point."""
    points = scored.points
    return Layout(
        tp=int(points.tp[point]), pp=int(points.pp[point]), dp=int(points.dp[point]),
        ep=int(points.ep[point]), attention_dp=bool(points.attention_dp[point]),
    )  # fmt: skip


def prefill_at(scored: Scored, point: int) -> Layout | None:
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
    one = replace(serving, batch=prefill.dp * (prefill.tp if prefill.attention_dp else 1))
    return memories_of(question.arch, kind, serving=one, layout=prefill)[0]


def _drafting(arch: Arch, way: Way, *, layout: Layout) -> Iterator[Sentence]:
    if way.drafts.own:
        size = head_bytes(arch, way.weights, drafts=way.drafts) / (layout.tp * layout.pp)
        yield say("its head that drafts takes {size} of each card more", size=show_bytes(size))
    elif way.drafts.drafted_tok:
        yield say("what drafts is taken to be small: neither its time nor its memory is counted")


def _untried(prefill: Layout | None) -> Iterator[Sentence]:
    if prefill is not None:
        yield say("prompts and next tokens on cards of their own: few runs tell how long first tokens take")


def serving_at(table: Table, point: int, *, way: Way) -> Serving:
    """The serving of one point: as many sequences as run at once, over all replicas."""
    dp = int(table.scored.points.dp[point])
    running = max(int(np.ceil(float(table.scored.served["running"][point]))), 1)
    room = int(float(table.scored.room.pool_tok[point]) // max(context_tok(table.question), 1))
    return Serving(
        engine=engine_name(way.engine),
        weights=way.weights,
        kv=way.kv,
        context_tok=context_tok(table.question),
        batch=max(min(running, room), 1) * dp,
        prompt_tok=table.question.wish.prompt_tok,
    )


def _fitted(
    question: Question, kind: Kind, *, serving: Serving, layout: Layout
) -> tuple[Serving, tuple[ServingMemory, ...]]:
    """The serving with as many sequences as surely fit: what a step takes grows with them a little."""
    while True:
        memories = memories_of(question.arch, kind, serving=serving, layout=layout)
        memory = memories[0]
        if memory.fits or serving.batch <= layout.dp:
            return serving, memories
        seq = float(memory.cache_bytes + memory.states_bytes) / (serving.batch / layout.dp)
        fewer = max(int(np.ceil(float(-memory.spare_bytes) / max(seq, 1.0))), 1)
        serving = replace(serving, batch=max(serving.batch - fewer * layout.dp, layout.dp))


def memories_of(arch: Arch, kind: Kind, *, serving: Serving, layout: Layout) -> tuple[ServingMemory, ...]:
    """Memory of unlike ranks, the one with least to spare first."""
    engine = find_engine(serving.engine)
    if engine.split == "layer":
        cards = kind.mix or (kind.card,) * layout.pp
        found = stage_rooms(arch, cards=cards, serving=serving, layout=layout)
        return tuple(sorted(found, key=lambda one: float(one.spare_bytes)))
    device, weights = device_of(kind.card, engine), weigh(arch, serving.weights)
    return (serving_memory(arch, weights, serving=serving, layout=layout, device=device),)


def rank_bytes_of(memory: ServingMemory) -> Estimate:
    """The fullest rank, with its band."""
    used = float(memory.need_bytes + memory.slack_bytes)
    sure = float(memory.weights_bytes + memory.cache_bytes + memory.states_bytes)
    low, high = memory_band("device", used, sure_bytes=sure, unsure_bytes=used - sure)
    return Estimate(value=used, low=low, high=high)


def _figures(table: Table, place: int, *, kind: Kind, way: Way, supply: Supply) -> dict[str, Estimate]:
    told = {name: float(column[place]) for name, column in table.figures.items()}
    served = {name: told[name] for name in BANDED}
    apart = bool(table.scored.points.prefill_dp[table.options.index[place]])
    bands = tell(served, arch=table.question.arch, engine=way.engine, chips=(kind.chip,), apart=apart)
    found = {name: at(one, served[name]) for name, one in bands.items()}
    free = told["headroom"]
    found |= {
        "headroom": Estimate(value=free, low=free, high=free, mark="physics"),
        "power_w": power_of(table, place),
    }
    return {
        name: one for name, one in (found | _money(table, told, speed=found, supply=supply)).items()
        if np.isfinite(one.value)
    }  # fmt: skip


def power_of(table: Table, place: int) -> Estimate:
    """What one option draws."""
    points, point = table.scored.points, table.options.index[place : place + 1]
    drawn = drawn_w(
        table.question.kinds,
        kind=points.kind[point],
        n_chips=points.n_chips[point],
        work=table.question.wish.work,
    )
    return Estimate(value=float(drawn.value[0]), low=float(drawn.low[0]), high=float(drawn.high[0]))


def _money(
    table: Table, told: dict[str, float], *, speed: dict[str, Estimate], supply: Supply
) -> dict[str, Estimate]:
    """Money with the band of its prices; a token's also with that of the speed."""
    width = price_width(supply.as_of, table.question.market.today) if supply.how != "own" else 0.0
    found = {
        name: Estimate(
            value=told[name], low=told[name] * (1 - width), high=told[name] * (1 + width),
            mark="stated", as_of=supply.as_of,
        )
        for name in ("usd", "usd_per_h", "usd_total")
    }  # fmt: skip
    hour, rate = found["usd_per_h"], speed["output_tok_per_s"]
    found["usd_per_mtok"] = Estimate(
        value=told["usd_per_mtok"],
        low=float(usd_per_mtok(hour.low, rate.high)),
        high=float(usd_per_mtok(hour.high, rate.low)),
        mark="stated",
        as_of=supply.as_of,
    )
    return found if supply.how == "buy" else {name: one for name, one in found.items() if name != "usd"}


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
        yield say(
            "{more} more beside the {owned} that are there", more=n_chips - kind.owned, owned=kind.owned
        )
    if supply.as_of is None:
        yield say("no price is known: the plan stands behind those with one")
    elif supply.stale:
        yield say("the price is of {date}: look it up before acting on it", date=supply.as_of)


def reasons_of(best_at: Sequence[str]) -> tuple[Sentence, ...]:
    """What a plan is best at, in words."""
    return tuple(_REASONS[name] for name in best_at if name in _REASONS)


_REASONS = {
    "usd_per_h": say("costs least an hour"),
    "usd_per_mtok": say("costs least a token"),
    "ttft_s": say("first tokens come soonest"),
    "tpot_s": say("writes fastest for each user"),
    "power_w": say("draws least power"),
    "usd": say("costs least to buy"),
    "loss": say("loses least quality"),
    "output_tok_per_s": say("writes most tokens a second"),
    "headroom": say("leaves most memory free"),
    "days": say("is done soonest"),
    "usd_total": say("costs least in all"),
    "train_tok_per_s": say("trains on most tokens a second"),
    "usd_per_image": say("costs least an image"),
    "usd_per_text": say("costs least a text"),
    "texts_per_s": say("reads most texts a second"),
    "latency_s": say("a batch is done soonest"),
    "images_per_s": say("makes most images a second"),
}
