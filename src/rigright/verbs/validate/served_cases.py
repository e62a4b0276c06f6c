"""Served rows as arrays: those of one model, format and engine together, each with its chips and layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import replace
from rigright.base.units import KILO
from rigright.cost.power import Busy, draw_w
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.rates import SUBJECT
from rigright.cost.speed.work import Work, pictured
from rigright.cost.weights import has_experts
from rigright.demand import Layout, Numbers, Serving, Traffic
from rigright.facts.anchors import unmoved
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine
from rigright.predict.columns import at, stacked
from rigright.predict.room import Asked, Room, room_of
from rigright.predict.served import DEFAULT_SEQS, LEAST_TOK, Replicas, at_kinds, piped, served, server_rates
from rigright.predict.told import STREAMS
from rigright.terms.fitted import power_terms
from rigright.terms.memory import device_of, weigh
from rigright.terms.speed import work_of
from rigright.verbs.validate.ask import RunAsk

CUTS = (1, 2, 4, 8)  # tensor parallel, tried where nobody says
ROOM = ("pool_tok", "slots", "seqs", "max_seqs", "budget_tok")  # of replicas
UTMOST = 0.97  # share of the memory that an engine is given at most
RUNNING = "running"
SENT = (  # what a row tells of its traffic
    *("prompt_tok", "output_tok", "concurrency", "rate_per_s", "requests", "tpot_p99_s", "ttft_p99_s"),
    *("drafted_tok", "accepted_tok"),
)
Figures = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """Cases that share their work, engine and settings; every array has one entry a case."""

    arch: Arch
    work: Work
    engine: Engine
    chips: tuple[Chip, ...]
    chip_of: np.ndarray  # index into chips
    replicas: Replicas
    manner: str  # how the runs are tuned
    row_of: np.ndarray  # index of the row a case is of
    fits: np.ndarray  # whether one sequence has room


def group_cases(asks: Sequence[RunAsk]) -> tuple[CaseGroup, ...]:
    """All cases of rows: one a row, or one a layout where the row tells none."""
    cases = [(index, ask, cut) for index, ask in enumerate(asks) for cut in _layouts(ask)]
    groups: dict[Any, list[tuple[int, RunAsk, Layout]]] = {}
    for case in cases:
        groups.setdefault(_shared(case[1], case[2]), []).append(case)
    return tuple(_group(members) for members in groups.values())


def _shared(ask: RunAsk, cut: Layout) -> tuple[object, ...]:
    """What cases of one call of the law of time have in common."""
    sent, engine, chip = ask.traffic, ask.engine, ask.chip
    return (
        *(id(ask.arch), ask.weights, ask.serving.kv, engine.id, engine.options, cut.attention_dp),
        None if ask.prefill is None else ask.prefill.attention_dp,
        *(table_of(corrections(name), engine, chip=chip) for name in (SUBJECT, STREAMS)),
        *(ask.manner, ask.samples > 0, _alone(ask), _sets_aside(ask)),
        *(getattr(sent, name) is None for name in ("concurrency", "rate_per_s", "requests", "tpot_p99_s")),
    )


def _started(ask: RunAsk) -> tuple[object, ...]:
    """What cases of one call of the law of memory have in common beside that: how their engine is started."""
    engine, card = ask.engine, ask.card
    steps = (engine.budget_tok, engine.max_seqs, engine.graph_sizes)
    return (
        *(engine.asked, ask.layout is None),
        *(getattr(ask.serving, name) for name in ("budget_tok", "max_seqs", "utilisation")),
        *(engine.default(step, card.total_bytes, chip=ask.chip.id) for step in steps),
        device_of(card, engine).capability,
    )


def _sets_aside(ask: RunAsk) -> bool:
    """Whether the engine sets its cache aside, for as many as nobody said."""
    return ask.engine.pool != "share" and ask.serving.max_seqs is None


def _layouts(ask: RunAsk) -> tuple[Layout, ...]:
    """The layout told, or all that may be meant: the one that serves most is."""
    if ask.layout is not None:
        told = [ask.layout]
    elif ask.engine.split == "layer":
        told = [Layout(pp=min(ask.chips, len(ask.arch.trunk.layers)))]
    else:
        told = [Layout(tp=tp, dp=ask.chips // tp) for tp in CUTS if ask.chips % tp == 0]
    if (ask.layout is not None and ask.is_cut) or not has_experts(ask.arch):
        return tuple(told)
    apart = [replace(cut, ep=cut.tp, attention_dp=True) for cut in told if cut.tp > 1]
    return (*told, *apart)


def _alone(ask: RunAsk) -> bool:
    """Whether a row means one request that nothing holds up."""
    sent = ask.traffic
    told = (sent.concurrency, sent.rate_per_s, sent.tpot_p99_s)
    return ask.metric == "latency_ms" and all(one is None for one in told)


def _group(members: Sequence[tuple[int, RunAsk, Layout]]) -> CaseGroup:
    asks = [ask for _, ask, _ in members]
    layout = layout_of([cut for _, _, cut in members])
    cards = tuple(dict.fromkeys(ask.card for ask in asks))
    first = asks[0]
    prefills = [ask.prefill for ask in asks if ask.prefill is not None]

    def column(name: str) -> np.ndarray | None:
        values = [getattr(ask.traffic, name) for ask in asks]
        return None if values[0] is None else np.array(values, dtype=float)

    work = work_of(first.arch, weights=first.weights, kv=first.serving.kv)
    if first.samples:
        samples = np.array([ask.samples for ask in asks])
        work = pictured(work, first.arch, weights=weigh(first.arch, first.weights), samples=samples)
    traffic = Traffic(**{name: column(name) for name in SENT})
    if _alone(first):
        traffic = replace(traffic, concurrency=np.ones(len(asks)))
    card_of = np.array([cards.index(ask.card) for ask in asks])
    rooms = _rooms(asks, layout=layout, traffic=traffic)
    return CaseGroup(
        arch=first.arch,
        work=work,
        manner=first.manner,
        engine=first.engine,
        chips=tuple(card.chip for card in cards),
        chip_of=card_of,
        replicas=Replicas(
            engine=first.engine,
            layout=layout,
            traffic=traffic,
            prefill=layout_of(prefills) if prefills else None,
            **rooms,
        ),
        row_of=np.array([index for index, _, _ in members]),
        fits=np.maximum(rooms["pool_tok"], LEAST_TOK) >= traffic.prompt_tok,
    )


def layout_of(told: Sequence[Layout]) -> Layout:
    """Ways to share cards, alike in whether attention is replicated, as one layout of arrays."""
    names = ("tp", "pp", "ep", "dp")
    columns = {name: np.array([float(getattr(one, name)) for one in told]) for name in names}
    return replace(told[0], **columns)


def _rooms(asks: Sequence[RunAsk], *, layout: Layout, traffic: Traffic) -> dict[str, np.ndarray]:
    """What each replica has room for and is started with: engines started alike in one call."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, ask in enumerate(asks):
        alike.setdefault(_started(ask), []).append(place)
    columns = {name: np.empty(len(asks)) for name in ROOM}
    for places in alike.values():
        mine = np.array(places)
        own = _room([asks[place] for place in places], layout=at(layout, mine), traffic=at(traffic, mine))
        for name in ROOM:
            columns[name][mine] = own[name]
    return columns


def _room(asks: Sequence[RunAsk], *, layout: Layout, traffic: Traffic) -> dict[str, Numbers]:
    """The same of engines started alike."""
    first = asks[0]
    cards = tuple(dict.fromkeys(ask.card for ask in asks))
    card_of = np.array([cards.index(ask.card) for ask in asks])
    contexts = np.array([ask.serving.context_tok for ask in asks], dtype=float)
    engine, ranks = first.engine, layout.tp if layout.attention_dp else 1.0
    load = np.full(len(card_of), np.nan) if traffic.concurrency is None else traffic.concurrency
    load = load / layout.dp / ranks
    device = at(stacked([device_of(card, engine) for card in cards]), card_of)
    whole_tok = np.ceil(traffic.prompt_tok + traffic.output_tok)
    asked = Asked(
        context_tok=whole_tok if engine.pool == "share" else np.maximum(contexts, whole_tok),
        traffic_tok=whole_tok,
        most_seqs=np.minimum(np.nan_to_num(np.ceil(load), nan=DEFAULT_SEQS), DEFAULT_SEQS),
    )
    one = replace(layout, dp=1)

    def room(serving: Serving) -> Room:
        return room_of(first.arch, serving, device=device, layout=one, asked=asked, shape=np.shape(whole_tok))

    found = room(first.serving)
    pool_tok = found.pool_tok
    if first.layout is not None and engine.pool == "share":  # it ran: so one prompt had room
        short = pool_tok / ranks <= traffic.prompt_tok
        if short.any():
            pool_tok = np.where(short, room(replace(first.serving, utilisation=UTMOST)).pool_tok, pool_tok)
    card, chip = first.card, first.chip.id
    seqs, budget = (
        engine.default(steps, card.total_bytes, chip=chip) for steps in (engine.max_seqs, engine.budget_tok)
    )
    return {
        "pool_tok": pool_tok,
        "slots": np.floor(found.slots) if _sets_aside(first) else np.inf,
        "seqs": seqs or DEFAULT_SEQS,
        "max_seqs": first.serving.max_seqs or np.nan,
        "budget_tok": first.serving.budget_tok or budget or asked.context_tok,
    }


def figures(group: CaseGroup, *, tables: Mapping[str, Any] | None = None) -> Figures:
    """Every metric of the cases of a group, in the units of the file."""
    each = server_rates(
        group.chips, group.engine, weights=group.work.weights, manner=group.manner, tables=tables
    )
    replicas = group.replicas
    gain = piped(group.arch, group.engine, work=group.work, stages=replicas.layout.pp)
    found, _ = served(replicas, work=group.work, rates=at_kinds(each, group.chip_of, piped=gain))
    return _metrics(
        group,
        ttft_s=found.ttft_s,
        tpot_s=found.tpot_s,
        itl_s=found.itl_p50_s,
        running=found.running * replicas.layout.dp,
        per_s=found.requests_per_s,
        prompt_s=found.prefill_s if replicas.prefill is None else found.ttft_s,
        compute_busy=found.compute_busy,
        work_busy=found.work_busy,
    )


def _metrics(group: CaseGroup, **of: np.ndarray) -> Figures:
    prompts, outputs = group.replicas.traffic.prompt_tok, group.replicas.traffic.output_tok
    ttft_s, tpot_s, per_s = of["ttft_s"], of["tpot_s"], of["per_s"] * group.fits
    busy = Busy(compute=of["compute_busy"], work=of["work_busy"])
    return {
        "ttft_ms": from_s(ttft_s),
        "tpot_ms": from_s(tpot_s),
        "itl_ms": from_s(of["itl_s"]),
        RUNNING: of["running"],
        "output_tok_s_total": per_s * outputs,
        "requests_s_total": per_s,
        "total_tok_s": per_s * (prompts + outputs),
        "latency_ms": from_s(ttft_s + np.maximum(outputs - 1, 0) * tpot_s),
        "decode_tok_s_per_user": 1 / tpot_s,
        "prefill_tok_s": np.divide(
            prompts, of["prompt_s"], out=np.full(np.shape(prompts), np.nan), where=of["prompt_s"] > 0
        ),
        "compute_busy": of["compute_busy"],
        "work_busy": of["work_busy"],
        "avg_power_w_per_gpu": draw_w(power_terms(group.chips), busy, at=group.chip_of).value,
    }


def from_s(seconds: np.ndarray) -> np.ndarray:
    """Milliseconds, as the file has them."""
    return seconds * KILO


def best_of_rows(
    groups: Sequence[CaseGroup], asks: Sequence[RunAsk], *, tables: Mapping[str, Any] | None = None
) -> np.ndarray:
    """One figure a row: that of its layout, or of the layout that serves most."""
    best = _best(groups, len(asks), tables=tables)
    names = [ask.figure for ask in asks]
    return np.array(
        [
            found[name][place] if name in found else np.nan
            for name, (found, place) in zip(names, best, strict=True)
        ]
    )


def figures_of(asks: Sequence[RunAsk]) -> np.ndarray:
    """The same at once, each of its own group; what one run tells in several rows is worked out once."""
    runs = [replace(ask, metric="latency_ms" if _alone(ask) else "", assumed=()) for ask in asks]
    unlike = tuple(dict.fromkeys(runs))
    found = dict(zip(unlike, _every_figure(unlike), strict=True))
    return np.array([found[run].get(ask.figure, np.nan) for ask, run in zip(asks, runs, strict=True)])


@unmoved
def _every_figure(runs: tuple[RunAsk, ...]) -> tuple[Mapping[str, float], ...]:
    best = _best(group_cases(runs), len(runs))
    return tuple({name: column[place] for name, column in found.items()} for found, place in best)


def _best(
    groups: Sequence[CaseGroup], rows: int, *, tables: Mapping[str, Any] | None = None
) -> list[tuple[Figures, int]]:
    """The case of each row that serves most: the figures of its group, and its place among them."""
    best: list[tuple[Figures, int]] = [({}, 0)] * rows
    most = np.full(rows, -1.0)
    for group in groups:
        found = figures(group, tables=tables)
        each = found["requests_s_total"]
        if (
            group.replicas.traffic.tpot_p99_s is not None
        ):  # of layouts at one rate, the one that would bear most
            each = found[RUNNING] / found["latency_ms"]
        for place, (row, per_s) in enumerate(zip(group.row_of, each, strict=True)):
            if per_s > most[row]:
                best[row], most[row] = (found, place), per_s
    return best
