"""Cases of serving, one or many unlike ones: those that share their work and engine are one call of the laws.

`explain` asks of one case, a table of runs of thousands; nothing else puts a case before the laws of serving.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.choice.case import Case
from rigright.choice.drafts import head_bytes, pass_work
from rigright.choice.layout import is_staged, surely
from rigright.cost.memory.serving import ServingMemory, pool_tok
from rigright.cost.speed.eras import table_of
from rigright.cost.speed.rates import SUBJECT
from rigright.cost.speed.service import Limits
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Traffic
from rigright.facts.corrections import corrections
from rigright.predict.bands import STREAMS
from rigright.predict.columns import at, columns_of, unlike
from rigright.predict.deployment import Deployment, started_on
from rigright.predict.room import Asked
from rigright.predict.served import (
    DEFAULT_SEQS,
    LEAST_TOK,
    Reached,
    Replicas,
    at_kinds,
    piped,
    served,
    server_rates,
    started_for,
    tiers_of,
)

CUT = ("tp", "pp", "ep", "dp")
HITS = ("gpu", "ram", "disk", "reload_s")  # of what sessions find
# None is a word of its own
LOADED = ("concurrency", "rate_per_s", "requests", "output_spread", "tpot_p99_s", "ttft_p99_s", "think_s")
SENT = (
    *(*LOADED, "prompt_tok", "output_tok", "cached_tok", "drafted_tok", "accepted_tok"),
    *("turns", "shared_tok"),
)
ROOM = ("pool_tok", "slots", "seqs", "max_seqs", "budget_tok")  # of replicas
MOST_SHARE = 0.97  # of the memory that an engine is given at most
Figures = dict[str, np.ndarray]  # by name, an entry a case
Tables = Mapping[str, Any]  # of terms
_ALONE, _BESIDE = "alone", "beside"  # cases that no server stands around, or that used main memory


class AnyCases(Protocol):
    """Cases that one call of the laws takes."""

    @property
    def places(self) -> tuple[int, ...]:
        """Of its cases, among all."""

    def figures(self, tables: Tables | None = None) -> Figures:
        """What users see of each; `tables`: other terms than ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """Cases that share their work, engine and settings; every array has one entry a case.

    A case of unlike cards, or with a part in main memory, is a group of its own.
    """

    places: tuple[int, ...]  # among all cases
    cases: tuple[Case, ...]
    work: PassWork
    replicas: Replicas

    def reached(self, tables: Tables | None = None) -> Reached:
        """What the cards of each case reach; `tables`: other terms than ours."""
        first, traffic = self.cases[0], self.replicas.traffic
        if not is_plain(first):
            budget_tok = self.replicas.limits.budget_tok
            from rigright.predict.passes import reached

            passes = np.ceil(traffic.prompt_tok / budget_tok)  # equal ones
            return reached(first, chunk_tok=float(traffic.prompt_tok / passes))
        chips, chip_of = unlike([case.cards[0].chip for case in self.cases])
        each = server_rates(chips, first.engine, weights=first.form, manner=first.manner, tables=tables)
        gain = piped(first.arch, first.engine, work=self.work, stages=self.replicas.layout.pp)
        return Reached(work=self.work, rates=at_kinds(each, chip_of, piped=gain), chips=chips)

    def figures(self, tables: Tables | None = None) -> Figures:
        """What users see of each; `tables`: other terms than ours."""
        machine, replicas = self.reached(tables), self.replicas
        seen, _ = served(replicas, work=machine.work, rates=machine.whole)
        prompts, outputs = replicas.traffic.prompt_tok, replicas.traffic.output_tok
        fits = np.maximum(replicas.pool_tok, LEAST_TOK) >= prompts  # one sequence has room
        per_s = seen.requests_per_s * fits
        hits = getattr(seen, "hits", None)
        found = {} if hits is None else {f"hit_{name}": getattr(hits, name) for name in HITS}
        prompt_s = seen.prefill_s if replicas.prefill is None else seen.ttft_s
        return {
            "ttft_s": seen.ttft_s,
            "tpot_s": seen.tpot_s,
            "itl_s": seen.itl_p50_s,
            "latency_s": seen.ttft_s + np.maximum(outputs - 1, 0) * seen.tpot_s,
            "user_tok_per_s": 1 / seen.tpot_s,
            "prefill_tok_per_s": np.where(prompt_s > 0, prompts, np.nan) / prompt_s,
            "output_tok_per_s": per_s * outputs,
            "requests_per_s": per_s,
            "total_tok_per_s": per_s * (prompts + outputs),
            "running": seen.running * replicas.layout.dp,
            "compute_busy": seen.compute_busy,
            "work_busy": seen.work_busy,
            **found,
        }


def is_plain(case: Case) -> bool:
    """Whether its cards are alike and hold all of the model."""
    kinds = {(card.chip.id, card.total_bytes, card.free_bytes) for card in case.cards}
    return case.serving.offload is None and len(kinds) == 1


def group_of(case: Case) -> CaseGroup:
    """A case of a server, by itself."""
    return _group([case], (0,))


def prepared(cases: Sequence[Case]) -> tuple[AnyCases, ...]:
    """Cases by what they share, ready to be asked under one set of terms after another."""
    fields: dict[object, list[int]] = {}
    for place, case in enumerate(cases):
        apart = _BESIDE if case.beside is not None else _ALONE if case.is_alone else None
        fields.setdefault(apart or (_shared(case) if is_plain(case) else (place,)), []).append(place)
    beside, alone = fields.pop(_BESIDE, []), fields.pop(_ALONE, [])
    groups: list[AnyCases] = [
        _group([cases[place] for place in places], places) for places in fields.values()
    ]
    if alone:
        from rigright.predict.streams import streams_of

        groups += streams_of({place: cases[place] for place in alone})
    if beside:
        from rigright.predict.beside import BesideGroup

        groups += [BesideGroup(places=(place,), case=cases[place]) for place in beside]
    return tuple(groups)


def predict(cases: Sequence[Case]) -> Figures:
    """What users see of every case."""
    return figures(prepared(cases))


def limits_of(case: Case, traffic: Traffic) -> Limits:
    """What a replica of a case admits, for requests of such lengths: plain numbers."""
    limits = group_of(replace(case, traffic=traffic)).replicas.limits
    return Limits(**{field.name: float(np.min(getattr(limits, field.name))) for field in fields(Limits)})


def figures(groups: Sequence[AnyCases], *, tables: Tables | None = None) -> Figures:
    """What users see of every case; `tables`: other terms than ours."""
    values: Figures = {}
    count = sum(len(group.places) for group in groups)
    for group in groups:
        for name, value in group.figures(tables).items():
            column = values.setdefault(name, np.full(count, np.nan))
            if len(group.places) < np.size(value):  # of unlike cards, the slowest
                slowest = np.min if "per_s" in name or name == "running" else np.max
                column[list(group.places)] = slowest(value)
            else:
                column[list(group.places)] = value
    return values


def serves_most(values: Figures, cases: Sequence[Case]) -> Numbers:
    """By what layouts of one question are ranked: of those at one rate, the one that would bear most."""
    bears = values["running"] / values["latency_s"]
    at_rate = np.array([case.traffic is not None and case.traffic.tpot_p99_s is not None for case in cases])
    staged = np.array([bool(is_staged(case.engine.split, case.layout.pp)) for case in cases])
    return surely(np.where(at_rate, bears, values["requests_per_s"]), staged=staged)


def _shared(case: Case) -> tuple[object, ...]:
    """What cases of one call of the law of time have in common."""
    engine, chip, sent = case.engine, case.cards[0].chip, case.traffic
    return (
        *(id(case.arch), case.form, case.serving.kv, engine.id, engine.options, case.layout.attention_dp),
        None if case.prefill is None else case.prefill.attention_dp,
        *(table_of(corrections(name), engine, chip=chip) for name in (SUBJECT, STREAMS)),
        *(case.manner, case.serving.batch is None, case.drafts.model, case.serving.kv_store),
        *(getattr(sent, name) is None for name in LOADED),
    )


def _started(case: Case) -> tuple[object, ...]:
    """What cases of one call of the law of memory have in common beside that: how their engine is started."""
    engine, serving = case.engine, case.serving
    return (
        *(engine.asked, case.ran, serving.budget_tok, serving.max_seqs, serving.utilisation, serving.graphs),
        *(case.drafts, *started_on(case.cards[0], engine, form=serving.weights)),
    )


def _group(cases: Sequence[Case], places: Sequence[int]) -> CaseGroup:
    first = cases[0]
    work = pass_work(first.arch, weights=first.form, kv=first.serving.kv, drafts=first.drafts)
    traffic = columns_of([case.traffic for case in cases], SENT)
    prefills = [case.prefill for case in cases if case.prefill is not None]
    layout = columns_of([case.layout for case in cases], CUT)
    plain = is_plain(first)
    rooms = _rooms(cases, layout=layout, traffic=traffic) if plain else _room_of_one(first)
    replicas = Replicas(
        engine=first.engine,
        layout=layout if plain else first.layout,
        traffic=traffic if plain or first.traffic is None else first.traffic,
        prefill=columns_of(prefills, CUT) if prefills else None,
        tiers=tiers_of(first, layout=layout, chips=[case.cards[0].chip for case in cases]),
        **rooms,
    )
    return CaseGroup(places=tuple(places), cases=tuple(cases), work=work, replicas=replicas)


def _rooms(cases: Sequence[Case], *, layout: Layout, traffic: Traffic) -> dict[str, Numbers]:
    """What each replica has room for and is started with: engines started alike in one call."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, case in enumerate(cases):
        alike.setdefault(_started(case), []).append(place)
    columns = {name: np.empty(len(cases)) for name in ROOM}
    for places in alike.values():
        mine = np.array(places)
        own = _room([cases[place] for place in places], layout=at(layout, mine), traffic=at(traffic, mine))
        for name in ROOM:
            columns[name][mine] = own[name]
    return columns


def _room(cases: Sequence[Case], *, layout: Layout, traffic: Traffic) -> dict[str, Numbers]:
    """The same of engines started alike."""
    first = cases[0]
    cards, kind = unlike([case.cards[0] for case in cases])
    engine, ranks = first.engine, layout.tp if layout.attention_dp else 1.0
    load = np.full(len(cases), np.nan) if traffic.concurrency is None else traffic.concurrency
    load = load / layout.dp / ranks
    whole_tok = np.ceil(traffic.prompt_tok + traffic.output_tok)
    contexts = np.array([case.serving.context_tok for case in cases], dtype=float)
    asked = Asked(
        context_tok=whole_tok if engine.pool == "share" else np.maximum(contexts, whole_tok),
        traffic_tok=whole_tok,
        most_seqs=np.minimum(np.nan_to_num(np.ceil(load), nan=DEFAULT_SEQS), DEFAULT_SEQS),
    )
    deployment = Deployment(
        arch=first.arch, engine=engine, serving=first.serving, drafts=first.drafts,
        machines=tuple((card,) for card in cards),
    )  # fmt: skip
    room = deployment.room(kind, layout=layout, asked=asked)
    if first.ran and engine.pool == "share":  # one prompt had room, with however large a share
        short = room.pool_tok / ranks <= traffic.prompt_tok
        if short.any():
            roomy = replace(deployment, serving=replace(first.serving, utilisation=MOST_SHARE))
            most = roomy.room(kind, layout=layout, asked=asked).pool_tok
            room = replace(room, pool_tok=np.where(short, most, room.pool_tok))
    replicas = deployment.replicas(
        kind, room=room, layout=layout, traffic=traffic, else_tok=asked.context_tok
    )
    columns = {name: getattr(replicas, name) for name in ROOM}
    if first.serving.batch is None:
        return columns
    loads = (None if case.traffic is None else case.traffic.concurrency for case in cases)
    seqs = np.array([started_for(case, users=load) for case, load in zip(cases, loads, strict=True)])
    return columns | {"slots": np.inf, "seqs": seqs, "max_seqs": seqs}


def _room_of_one(case: Case) -> dict[str, Numbers]:
    """The same of one case of unlike cards, or with a part in main memory."""
    traffic, layout = case.traffic, case.layout
    assert traffic is not None  # noqa: S101 - whoever asks has settled it
    tokens = int(traffic.prompt_tok + traffic.output_tok)
    from rigright.predict.ranks import memories

    usual = memories(case.over(context_tok=tokens, batch=int(layout.dp)))
    heads = head_bytes(case.arch, case.serving.weights, drafts=case.drafts) / (layout.tp * layout.pp)
    pool = min(float(pool_tok(memory, tokens)) * _left_beside(memory, heads) for memory in usual)
    seqs = started_for(case, users=traffic.concurrency)
    return {
        "pool_tok": pool * (layout.tp if layout.attention_dp else 1),
        "slots": np.inf,  # it is started for so many already
        "seqs": seqs,
        "max_seqs": seqs,
        "budget_tok": float(case.settings.budget_tok),
    }


def _left_beside(memory: ServingMemory, taken_bytes: float) -> float:
    """The part of a rank's room for caches that something more leaves of it."""
    free = float(memory.need_bytes + memory.spare_bytes - memory.fixed_bytes)
    return max(free - taken_bytes, 0.0) / max(free, 1.0)
