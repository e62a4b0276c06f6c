"""Served rows as arrays: those of one model, format and engine together, each with its chips and layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rigright.base.units import KILO
from rigright.cost.links import Wire
from rigright.cost.memory_device import device_of
from rigright.cost.memory_serving import serving_memory
from rigright.cost.power import Busy, draw_w
from rigright.cost.speed.apart import serve_apart
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.rates import SUBJECT, Rates, rates_of
from rigright.cost.speed.service import Limits, serve
from rigright.cost.speed.work import Work, pictured, work_of
from rigright.cost.weights import has_experts, weigh
from rigright.demand import Layout, Serving, Traffic
from rigright.facts.anchors import unmoved
from rigright.facts.chips import Chip
from rigright.facts.corrections import corrections
from rigright.facts.engines import Engine, find_engine
from rigright.predict.told import STREAMS
from rigright.verbs.validate.served_asks import NOTHING_SAID, ServedAsk, WorkerSplit
from rigright.verbs.validate.served_drafts import NO_DRAFTS

CUTS = (1, 2, 4, 8)  # tensor parallel, tried where nobody says
LEAST_TOK = 1.0
UTMOST = 0.97  # share of the memory that an engine is given at most
RUNNING = "running"
MANY = 512  # kinds of engine, chip and format that a file runs
NO_STREAMS: Mapping[str, Any] = {"engines": {}, "eras": {}}
Figures = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """Cases that share their work and engine; every array has one entry a case."""

    work: Work
    engine: Engine
    chips: tuple[Chip, ...]
    chip_of: np.ndarray  # index into chips
    layout: Layout
    prefill: Layout | None  # workers of prompts, where they are apart
    manner: str  # how the runs are tuned
    traffic: Traffic
    limits: Limits
    row_of: np.ndarray  # index of the row a case is of
    fits: np.ndarray  # whether one sequence has room


def group_cases(asks: Sequence[ServedAsk]) -> tuple[CaseGroup, ...]:
    """All cases of rows: one a row, or one a layout where the row tells none."""
    cases = [(index, ask, cut) for index, ask in enumerate(asks) for cut in _cuts(ask)]
    groups: dict[Any, list[tuple[int, ServedAsk, WorkerSplit]]] = {}
    eras = corrections(SUBJECT)
    for case in cases:
        _, ask, cut = case
        apart = None if ask.prefill is None else ask.prefill.attention_dp
        sent = ask.sent
        kind = (ask.load is None, sent.rate_per_s is None, sent.requests is None, sent.tpot_p99_s is None)
        way = (table_of(eras, ask.engine, chip=ask.chip), sent.manner, sent.samples > 0, *kind)
        groups.setdefault(
            (id(ask.arch), ask.weights, ask.kv, ask.engine.id, cut.attention_dp, apart, *way), []
        ).append(case)
    return tuple(_group(members) for members in groups.values())


def _cuts(ask: ServedAsk) -> tuple[WorkerSplit, ...]:
    """The layout told, or all that may be meant: the one that serves most is."""
    if ask.cut is None:
        told = [WorkerSplit(workers=ask.chips // tp, tp=tp, pp=1, ep=1) for tp in CUTS if ask.chips % tp == 0]
    else:
        told = [ask.cut]
    if (ask.cut is not None and not ask.cut.free) or not has_experts(ask.arch):
        return tuple(told)
    apart = [replace(cut, ep=cut.tp, attention_dp=True) for cut in told if cut.tp > 1]
    return (*told, *apart)


def _alone(ask: ServedAsk) -> bool:
    """Whether a row means one request that nothing holds up."""
    free = ask.sent.rate_per_s is None and ask.sent.tpot_p99_s is None
    return ask.load is None and ask.metric == "latency_ms" and free


def _group(members: Sequence[tuple[int, ServedAsk, WorkerSplit]]) -> CaseGroup:
    asks = [ask for _, ask, _ in members]
    cuts = [cut for _, _, cut in members]
    chips = tuple(dict.fromkeys(ask.chip for ask in asks))
    first = asks[0]
    sent = first.sent
    loads = [1.0 if _alone(ask) else ask.load for ask in asks]
    prefills = [ask.prefill for ask in asks if ask.prefill is not None]
    prompts, outputs = (
        np.array([getattr(ask, name) for ask in asks], dtype=float) for name in ("prompt_tok", "output_tok")
    )
    room = np.array([_room_tok(ask, cut) for ask, cut in zip(asks, cuts, strict=True)])

    def told(name: str) -> np.ndarray | None:
        values = [getattr(ask.sent, name) for ask in asks]
        return None if values[0] is None else np.array(values, dtype=float)

    work = work_of(first.arch, weights=first.weights, kv=first.kv)
    if sent.samples:
        work = pictured(work, first.arch, samples=np.array([ask.sent.samples for ask in asks]))
    return CaseGroup(
        work=work,
        manner=sent.manner,
        engine=first.engine,
        chips=chips,
        chip_of=np.array([chips.index(ask.chip) for ask in asks]),
        layout=_layout(cuts),
        prefill=_layout(prefills) if prefills else None,
        traffic=Traffic(
            prompt_tok=prompts,
            output_tok=outputs,
            concurrency=None if loads[0] is None else np.array(loads, dtype=float),
            rate_per_s=told("rate_per_s"),
            requests=told("requests"),
            tpot_p99_s=told("tpot_p99_s"),
            ttft_p99_s=told("ttft_p99_s"),
            drafted_tok=np.array([ask.drafts.drafted_tok for ask in asks]),
            accepted_tok=np.array([ask.drafts.accepted_tok for ask in asks]),
        ),
        limits=Limits(
            pool_tok=np.maximum(room, LEAST_TOK),
            max_seqs=np.array([_max_seqs(ask, cut) for ask, cut in zip(asks, cuts, strict=True)]),
            budget_tok=np.array([_budget_tok(ask) for ask in asks]),
        ),
        row_of=np.array([index for index, _, _ in members]),
        fits=room >= prompts,
    )


def _layout(cuts: Sequence[WorkerSplit]) -> Layout:
    return Layout(
        tp=np.array([float(cut.tp) for cut in cuts]),
        pp=np.array([float(cut.pp) for cut in cuts]),
        ep=np.array([float(cut.ep) for cut in cuts]),
        dp=np.array([float(cut.workers) for cut in cuts]),
        attention_dp=cuts[0].attention_dp,
    )


def _metric(ask: ServedAsk) -> str:
    """The figure a row means: some tell the middle of all passes as their TPOT."""
    return "itl_ms" if ask.metric == "tpot_ms" and ask.sent.median else ask.metric


def _budget_tok(ask: ServedAsk) -> float:
    return ask.budget_tok or float(
        ask.engine.default(ask.engine.budget_tok, ask.card.total_bytes, chip=ask.chip.id) or np.inf
    )


def _max_seqs(ask: ServedAsk, cut: WorkerSplit) -> float:
    """An engine is started for the load it is measured with, if nobody says otherwise."""
    if ask.max_seqs:
        return ask.max_seqs * (cut.tp if cut.attention_dp else 1)
    own = ask.engine.default(ask.engine.max_seqs, ask.card.total_bytes, chip=ask.chip.id) or np.inf
    return max(float(own) * (cut.tp if cut.attention_dp else 1), (ask.load or 0) / cut.workers)


def _room_tok(ask: ServedAsk, cut: WorkerSplit) -> float:
    """Tokens a replica's cache holds; where ranks hold their own sequences, all of them together."""
    held = replace(
        ask, cut=None, prefill=None, chips=1, load=None, metric="", sent=NOTHING_SAID,
        drafts=NO_DRAFTS, assumed=(),
    )  # fmt: skip
    return _rank_tok(held, replace(cut, workers=1), run=ask.cut is not None) * (
        cut.tp if cut.attention_dp else 1
    )


@unmoved
def _rank_tok(ask: ServedAsk, cut: WorkerSplit, *, run: bool) -> float:
    usual = _held_tok(ask, cut=cut, share=ask.utilisation)
    if usual > ask.prompt_tok or not run:
        return usual
    return _held_tok(ask, cut=cut, share=UTMOST)  # it was run: so it was given more


def _held_tok(ask: ServedAsk, *, cut: WorkerSplit, share: float | None) -> float:
    """In tokens of sequences as long as those asked for: a window, once full, takes no more of them."""
    whole_tok = np.ceil(ask.prompt_tok + ask.output_tok)
    memory = serving_memory(
        ask.arch,
        weigh(ask.arch, ask.weights),
        serving=Serving(
            engine=f"{ask.engine.id} {ask.engine.version}",
            weights=ask.weights,
            kv=ask.kv,
            context_tok=whole_tok,
            budget_tok=ask.budget_tok,
            max_seqs=ask.max_seqs,
            utilisation=share,
        ),
        layout=Layout(tp=cut.tp, pp=cut.pp, ep=cut.ep, attention_dp=cut.attention_dp),
        device=device_of(ask.card, ask.engine),
    )
    each = float(memory.cache_bytes + memory.states_bytes)
    return max((each + float(memory.spare_bytes)) / each * whole_tok, 0.0) if each > 0 else np.inf


def _rates(
    chips: Sequence[Chip], engine: Engine, *, weights: str, manner: str, tables: Mapping[str, Any]
) -> Rates:
    if table_of(corrections(STREAMS), find_engine(engine.id), chip=chips[0]) is None:
        tables = {**tables, "streams": NO_STREAMS}  # a server, whatever a lone stream of its early days took
    return rates_of(chips, engine, weights=weights, tables=tables, manner=manner)


@lru_cache(maxsize=MANY)
def _usual_rates(chips: tuple[Chip, ...], engine: Engine, *, weights: str, manner: str) -> Rates:
    return _rates(chips, engine, weights=weights, manner=manner, tables=corrections(SUBJECT))


def figures(group: CaseGroup, *, tables: Mapping[str, Any] | None = None) -> Figures:
    """Every metric of the cases of a group, in the units of the file."""
    asked: Any = {"weights": group.work.weights, "manner": group.manner}
    if tables is None:
        each = _usual_rates(group.chips, group.engine, **asked)
    else:
        each = _rates(group.chips, group.engine, tables=tables, **asked)
    # rates of chips as rates of cases
    plain = {item.name: getattr(each, item.name) for item in fields(Rates) if item.name != "wire"}
    wire = {item.name: getattr(each.wire, item.name) for item in fields(Wire)}
    rates = Rates(
        wire=Wire(
            **{name: value[group.chip_of] if np.ndim(value) else value for name, value in wire.items()}
        ),
        **{name: value[group.chip_of] if np.ndim(value) else value for name, value in plain.items()},
    )
    asked = {"layout": group.layout, "traffic": group.traffic, "limits": group.limits}
    if group.prefill is not None:
        apart = serve_apart(group.work, rates, prefill=group.prefill, **asked)
        return _metrics(
            group, ttft_s=apart.ttft_s, tpot_s=apart.tpot_s, itl_s=apart.tpot_s,
            per_s=apart.requests_per_s, prompt_s=apart.ttft_s, running=apart.running * group.layout.dp,
            compute_busy=apart.compute_busy, work_busy=apart.work_busy,
        )  # fmt: skip
    found = serve(group.work, rates, **asked)
    return _metrics(
        group,
        ttft_s=found.ttft_s,
        tpot_s=found.tpot_s,
        itl_s=found.itl_p50_s,
        running=found.running * group.layout.dp,
        per_s=found.requests_per_s,
        prompt_s=found.prefill_s,
        compute_busy=found.compute_busy,
        work_busy=found.work_busy,
    )


def _metrics(group: CaseGroup, **of: np.ndarray) -> Figures:
    prompts, outputs = group.traffic.prompt_tok, group.traffic.output_tok
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
        "prefill_tok_s": prompts / of["prompt_s"],
        "compute_busy": of["compute_busy"],
        "work_busy": of["work_busy"],
        "avg_power_w_per_gpu": draw_w(group.chips, busy, at=group.chip_of).value,
    }


def from_s(seconds: np.ndarray) -> np.ndarray:
    """Milliseconds, as the file has them."""
    return seconds * KILO


def best_of_rows(
    groups: Sequence[CaseGroup], asks: Sequence[ServedAsk], *, tables: Mapping[str, Any] | None = None
) -> np.ndarray:
    """One figure a row: that of its layout, or of the layout that serves most."""
    best = _best(groups, len(asks), tables=tables)
    names = map(_metric, asks)
    return np.array(
        [
            found[name][place] if name in found else np.nan
            for name, (found, place) in zip(names, best, strict=True)
        ]
    )


def figures_of(asks: Sequence[ServedAsk]) -> np.ndarray:
    """The same of few rows; what one run tells in several rows is worked out once."""
    runs = tuple(replace(ask, metric="latency_ms" if _alone(ask) else "", assumed=()) for ask in asks)
    found = zip(map(_metric, asks), _every_figure(runs), strict=True)
    return np.array([figures.get(name, np.nan) for name, figures in found])


@unmoved
def _every_figure(runs: tuple[ServedAsk, ...]) -> tuple[Mapping[str, float], ...]:
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
        served = found["requests_s_total"]
        if group.traffic.tpot_p99_s is not None:  # of layouts at one rate, the one that would bear most
            served = found[RUNNING] / found["latency_ms"]
        for place, (row, per_s) in enumerate(zip(group.row_of, served, strict=True)):
            if per_s > most[row]:
                best[row], most[row] = (found, place), per_s
    return best
