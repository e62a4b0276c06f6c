"""One way to serve a model, on kinds of machines: what a replica has room for and what it serves, as arrays.

The search hands its layouts in by way, `predict(cases)` its cases by what they share; both are asked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, kept, replace
from rigright.choice.case import Case, serving_case
from rigright.choice.drafts import NONE, Drafts, cache_share, head_bytes, pass_work
from rigright.choice.offload import in_ram
from rigright.cost.memory.settings import EngineCard
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Serving, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine
from rigright.facts.hosts import Host, host_chip
from rigright.facts.nodes import Card
from rigright.predict.columns import at, each_chunk, stacked
from rigright.predict.room import Asked, Room, mixed_room, room_of
from rigright.predict.served import DEFAULT_SEQS, Replicas, at_kinds, piped, served, server_rates, tiers_of
from rigright.terms.memory import device_of

SERVED = (
    *("ttft_s", "ttft_p50_s", "ttft_p95_s", "ttft_p99_s", "tpot_s", "tpot_p95_s", "requests_per_s"),
    *("output_tok_per_s", "running", "waiting_s", "busy", "step_s", "prefill_s"),
    *("memory_share", "compute_share", "link_share", "fixed_share", "compute_busy", "work_busy"),
)
HELD = "held"  # sequences that a replica is set up for


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A model in one engine with its settings; kinds of machines are stated by their places."""

    arch: Arch
    engine: Engine
    serving: Serving  # but for lengths and batch
    machines: tuple[tuple[Card, ...], ...]  # of each kind one card of many alike, or all unlike ones
    hosts: tuple[Host, ...] = ()  # around them, where a part lies in main memory
    drafts: Drafts = NONE

    @property
    def is_mixed(self) -> bool:
        """Whether unlike cards work one after another, each with as many layers as it has room for."""
        return len(self.machines[0]) > 1

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The chip of each kind."""
        return tuple(cards[0].chip for cards in self.machines)

    @property
    def work(self) -> PassWork:
        """What a token takes, with what of the model lies in main memory."""
        serving, offload = self.serving, self.serving.offload
        work = pass_work(self.arch, weights=serving.weights, kv=serving.kv, drafts=self.drafts)
        return work if offload is None else replace(work, ram=in_ram(self.arch, offload))

    @property
    def devices(self) -> EngineCard:
        """The cards as the engine meets them, an entry a kind; unlike ones start by the smallest."""
        return _devices(self)

    def started_alike(self) -> dict[object, list[int]]:
        """Kinds that are asked about in one call."""
        groups: dict[object, list[int]] = {}
        for place, cards in enumerate(self.machines):
            key = *started_on(cards[0], self.engine, form=self.serving.weights), len(cards) > 1 and place
            groups.setdefault(key, []).append(place)
        return groups

    def room(self, kind: Any, *, layout: Layout, asked: Asked) -> Room:
        """What a replica of each layout has room for; `kind` is a place for each, or an index of a table."""
        places = np.arange(len(self.machines))[kind]
        if self.is_mixed:
            (mix,) = self.machines
            room = mixed_room(self.arch, self.serving, mix=mix, asked=asked, width=len(layout.tp))
        else:
            room = room_of(
                self.arch, self.serving, device=at(self.devices, kind), layout=replace(layout, dp=1),
                asked=asked, shape=np.broadcast_shapes(places.shape, np.shape(layout.tp)),
            )  # fmt: skip
        heads = head_bytes(
            self.arch, self.serving.weights, drafts=self.drafts, context_tok=asked.context_tok
        )  # fmt: skip
        if np.any(heads):
            room = room.less(heads / (layout.tp * layout.pp), share=cache_share(self.arch, self.drafts))
        return room

    def budget_tok(self, kind: Any, *, else_tok: Numbers) -> Numbers:
        """Tokens of a pass: those said, those of the engine, else a whole context."""
        return _first(self.serving.budget_tok, at(self.devices.budget_tok, kind), else_tok)

    def replicas(
        self, kind: Any, *, room: Room, layout: Layout, traffic: Traffic, else_tok: Numbers,
        prefill: Layout | None = None,
    ) -> Replicas:  # fmt: skip
        """Replicas on kinds of cards, started as the engine does where nobody says."""
        return Replicas(
            engine=self.engine,
            layout=layout,
            traffic=traffic,
            pool_tok=room.pool_tok,
            slots=np.floor(room.slots),
            seqs=_first(at(self.devices.max_seqs, kind), DEFAULT_SEQS),
            max_seqs=_first(self.serving.max_seqs, np.nan),
            budget_tok=self.budget_tok(kind, else_tok=else_tok),
            prefill=prefill,
            tiers=tiers_of(self, layout=layout, chips=np.array(self.chips, dtype=object)[kind]),
        )

    def rates(self, *, prompt_tok: Numbers, seqs: int = 1) -> Rates:
        """What each kind reaches; unlike cards are dealt layers for so many sequences."""
        weights = self.serving.weights
        if self.serving.offload is not None:
            from rigright.predict.beside import beside_rates

            machines = [[card.chip for card in cards] for cards in self.machines]
            processors = [host_chip(host) for host in self.hosts]
            return beside_rates(machines, processors, engine=self.engine, weights=weights)
        if self.is_mixed:
            from rigright.predict.passes import reached

            chunk_tok = np.minimum(prompt_tok, self.budget_tok(0, else_tok=prompt_tok))
            return reached(self.mixed_case(seqs=seqs), chunk_tok=chunk_tok).whole
        return server_rates(self.chips, self.engine, weights=weights)

    def mixed_case(self, *, seqs: int = 1) -> Case:
        """All unlike cards at work on so many sequences, one after another."""
        (cards,) = self.machines
        serving = replace(self.serving, batch=seqs)
        return serving_case(self.arch, serving, layout=Layout(pp=len(cards)), cards=cards, engine=self.engine)

    def serves(self, replicas: Replicas, kind: Numbers) -> dict[str, Numbers]:
        """What users see of each, by the names of a service; and the sequences it is set up for."""
        prompt_tok = replicas.traffic.prompt_tok
        fields = _serves(self, replicas, kind=kind, rates=self.rates(prompt_tok=prompt_tok))
        for seqs in np.unique(fields[HELD]) if self.is_mixed else ():
            mine = fields[HELD] == seqs
            rates = self.rates(prompt_tok=prompt_tok, seqs=int(seqs))
            again = _serves(self, at(replicas, mine), kind=kind[mine], rates=rates)
            for name in SERVED:
                fields[name][mine] = again[name]
        return fields


def started_on(card: Card, engine: Engine, *, form: str) -> tuple[object, ...]:
    """What cannot differ in one call of the law of memory: what pads weights, and measured starts."""
    device = device_of(card, engine)
    return device.capability if form in engine.padded else "", device.own


@kept
def _devices(deployment: Deployment) -> EngineCard:
    smallest = (min(cards, key=lambda card: card.room_bytes) for cards in deployment.machines)
    return stacked([device_of(card, deployment.engine) for card in smallest])  # type: ignore[no-any-return]


def _first(*values: Numbers) -> Numbers:
    """The first that is said."""
    return next(value for value in values if value is not None)


def _serves(deployment: Deployment, replicas: Replicas, *, kind: Numbers, rates: Rates) -> dict[str, Numbers]:
    """The same with such rates, a chunk at a time."""
    work, engine, size = deployment.work, deployment.engine, len(kind)
    # replicas have room for layers dealt alike: nothing else is dealt to cards alike
    gain = np.ones(size)
    if not deployment.is_mixed:
        gain = gain * piped(deployment.arch, engine, work=work, stages=replicas.layout.pp)
    columns = {name: np.empty(size) for name in (*SERVED, HELD)}

    def task(chunk: slice) -> None:
        part = replicas if size <= chunk.stop - chunk.start else at(replicas, chunk)
        own = at_kinds(rates, kind[chunk], piped=gain[chunk])
        service, value = served(part, work=work, rates=own)
        columns[HELD][chunk] = value
        for name in SERVED:
            columns[name][chunk] = getattr(service, name)

    each_chunk(size, task)
    return columns
