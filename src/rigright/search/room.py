"""Room of replicas: memory by kind of card and shape of replica, as one table a way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import reduce

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.cost.memory_device import device_of
from rigright.cost.memory_places import dealt_bounds
from rigright.cost.memory_serving import (
    Bound,
    ServingMemory,
    less_spare,
    pool_tok,
    rank_memories,
    stage_memories,
)
from rigright.cost.memory_settings import Device
from rigright.cost.speed.dealt import Dealt, deal
from rigright.cost.speed.rates import Rates, rates_of
from rigright.cost.speed.work import Work
from rigright.cost.weights import weigh
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.engines import Engine, find_engine
from rigright.facts.nodes import Card
from rigright.search.columns import at, blended, stacked
from rigright.search.question import Kind, Way
from rigright.search.space import Shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one replica has: tables [kind, shape], or arrays along layouts once taken."""

    fits: Numbers  # one sequence of the context asked for
    need_bytes: Numbers  # of the fullest rank, with that sequence
    able_bytes: Numbers  # what the engine may take of its card
    room_bytes: Numbers  # of its card
    fixed_bytes: Numbers  # all but caches and states
    seq_bytes: Numbers  # a sequence of the traffic, on that rank
    pool_tok: Numbers  # tokens of such sequences the replica can hold
    slots: Numbers  # whole contexts that fit, at most those asked for, where an engine sets each aside
    contexts: Numbers  # whole contexts that fit on all ranks, whether or not they are set aside

    def take(self, row: Numbers, column: Numbers) -> Room:
        """Some places of the tables."""
        return Room(**{one.name: getattr(self, one.name)[row, column] for one in fields(Room)})

    def less(self, taken_bytes: Numbers) -> Room:
        """The same with so much more on every rank of a shape."""
        free = self.able_bytes - self.fixed_bytes
        part = np.maximum(free - taken_bytes, 0.0) / np.maximum(free, 1.0)
        return replace(
            self,
            fits=self.fits & (self.need_bytes + taken_bytes <= self.able_bytes),
            need_bytes=self.need_bytes + taken_bytes,
            fixed_bytes=self.fixed_bytes + taken_bytes,
            pool_tok=self.pool_tok * part,
            slots=self.slots * np.maximum(part, 1e-9),  # endless ones stay so
            contexts=self.contexts * part,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a replica shall hold."""

    context_tok: int  # the longest sequence
    traffic_tok: int  # a usual one
    most_seqs: int  # sequences that are worth a slot


def room_of(arch: Arch, way: Way, *, kinds: Sequence[Kind], shapes: Shapes, asked: Asked) -> Room:
    """Memory of every shape on every kind; the engine starts alike on all of them."""
    if kinds[0].mix:
        return _mixed_room(arch, way, kind=kinds[0], shapes=shapes, asked=asked)
    device = at(stacked([device_of(kind.card, way.engine) for kind in kinds]), (slice(None), None))
    weights = weigh(arch, way.weights)
    layout = shapes.layout()

    def memories(tokens: int, batch: Numbers = 1) -> list[ServingMemory]:
        serving = _held(way, tokens, batch=batch)
        return rank_memories(arch, weights, serving=serving, layout=layout, device=device, on_card=True)

    each = memories(asked.traffic_tok)
    most = each if asked.context_tok == asked.traffic_tok else memories(asked.context_tok)
    whole, usual = reduce(less_spare, most), reduce(less_spare, each)
    seq = usual.cache_bytes + usual.states_bytes
    ranks = shapes.tp if shapes.attention_dp else 1
    shape = (len(kinds), len(shapes.tp))
    tables = {
        "fits": whole.fits,
        "need_bytes": whole.need_bytes,
        "able_bytes": whole.need_bytes + whole.spare_bytes,
        "room_bytes": device.free_bytes,
        "fixed_bytes": whole.fixed_bytes,
        "seq_bytes": seq,
        "pool_tok": np.minimum.reduce([pool_tok(one, asked.traffic_tok) for one in each]) * ranks,
        "slots": np.inf
        if way.engine.pool == "share"
        else _slots(
            lambda count: reduce(less_spare, memories(asked.context_tok, count)).spare_bytes,
            first=whole.spare_bytes,
            linear=np.broadcast_to(pool_tok(whole, asked.context_tok) / asked.context_tok, shape),
            cap=asked.most_seqs,
        ),
        "contexts": pool_tok(whole, asked.context_tok) / asked.context_tok * ranks,
    }
    return Room(**{name: np.broadcast_to(value, shape) for name, value in tables.items()})


def _slots(spare: Callable[[Numbers], Numbers], *, first: Numbers, linear: Numbers, cap: int) -> Numbers:
    """The most sequences that fit, at most `cap`; one where not even that does.

    What is left falls ever faster with them: a straight line from one on (`first`: left with it) holds
    too many, and its chord to that end too few; between these by halving.
    """
    most = np.clip(np.nan_to_num(np.floor(linear), posinf=cap), 1, cap)
    if most.max(initial=1) == 1:
        return most
    left = spare(most)
    good = left >= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        chord = 1 + np.nan_to_num(np.floor((most - 1) * first / (first - left)))
    least = np.where(good, most, np.clip(chord, 1, most))
    most = np.where(good, most, np.maximum(most - 1, least))
    while (least < most).any():
        middle = np.ceil((least + most) / 2)
        good = spare(middle) >= 0
        least, most = np.where(good, middle, least), np.where(good, most, np.maximum(middle - 1, least))
    return least


def stage_rooms(
    arch: Arch, *, cards: Sequence[Card], serving: Serving, layout: Layout
) -> tuple[ServingMemory, ...]:
    """Memory of each card when whole layers are dealt out to them."""
    places = _places(arch, cards, serving=serving, layout=layout)
    weights = weigh(arch, serving.weights)
    return stage_memories(arch, weights, serving=serving, layout=layout, places=places)


def _places(
    arch: Arch, cards: Sequence[Card], *, serving: Serving, layout: Layout
) -> list[tuple[Device, Bound]]:
    engine, weights = find_engine(serving.engine), weigh(arch, serving.weights)
    devices = [device_of(card, engine) for card in cards]
    bounds = dealt_bounds(arch, weights, serving=serving, layout=layout, devices=devices)
    return list(zip(devices, bounds, strict=True))


def mix_dealt(
    arch: Arch, way: Way, *, mix: Sequence[Card], work: Work, context_tok: int, batch: int = 1
) -> Dealt:
    """What part of a pass each of unlike cards does, that hold so many sequences."""
    serving = _held(way, context_tok, batch=batch)
    places = _places(arch, mix, serving=serving, layout=Layout(pp=len(mix)))
    return deal([card.chip for card in mix], work, bounds=[bound for _, bound in places])


def whole_rates(dealt: Dealt, engine: Engine, *, weights: str, work: Work, chunk_tok: Numbers) -> Rates:
    """Rates of dealt cards together: each kind of chip weighs by its part of a pass."""
    even = dealt.evened(rates_of(dealt.chips, engine, weights=weights), work=work, chunk_tok=chunk_tok)
    return blended(even, dealt.shares)  # type: ignore[no-any-return]


def _held(way: Way, tokens: int, *, batch: Numbers) -> Serving:
    return Serving(
        engine=way.engine.asked,
        weights=way.weights,
        kv=way.kv,
        context_tok=tokens,
        batch=batch,
        offload=way.offload,
        budget_tok=way.budget_tok,
    )


def _mixed_room(arch: Arch, way: Way, *, kind: Kind, shapes: Shapes, asked: Asked) -> Room:
    """The same of unlike cards together: only all of them, one after another."""
    layout = Layout(pp=len(kind.mix))

    def memories(tokens: int, batch: int = 1) -> tuple[ServingMemory, ...]:
        return stage_rooms(arch, cards=kind.mix, serving=_held(way, tokens, batch=batch), layout=layout)

    def spare(count: Numbers) -> Numbers:
        found = memories(asked.context_tok, int(count.max()))
        return np.full(shape, min(float(one.spare_bytes) for one in found))

    whole, usual = memories(asked.context_tok), memories(asked.traffic_tok)
    worst = min(whole, key=lambda one: float(one.spare_bytes))
    shape = (1, len(shapes.tp))
    tables = {
        "fits": bool(worst.fits),
        "need_bytes": float(worst.need_bytes),
        "able_bytes": float(worst.need_bytes + worst.spare_bytes),
        "room_bytes": float(max(device_of(card, way.engine).free_bytes for card in kind.mix)),
        "fixed_bytes": float(worst.fixed_bytes),
        "seq_bytes": max(float(one.cache_bytes + one.states_bytes) for one in usual),
        "pool_tok": min(float(pool_tok(one, asked.traffic_tok)) for one in usual),
        "slots": _slots(
            spare, first=float(worst.spare_bytes), linear=np.full(shape, np.inf), cap=asked.most_seqs
        ),
        "contexts": min(float(pool_tok(one, asked.context_tok)) for one in whole) / asked.context_tok,
    }
    return Room(**{name: np.broadcast_to(value, shape) for name, value in tables.items()})
