"""Room of replicas: memory by kind of card and shape of replica, as one table a way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.cost.memory_device import device_of
from rigright.cost.memory_places import dealt_bounds
from rigright.cost.memory_serving import Bound, ServingMemory, pool_tok, serving_memory, stage_memories
from rigright.cost.memory_settings import Device
from rigright.cost.speed.dealt import Dealt, deal
from rigright.cost.speed.work import Work
from rigright.cost.weights import weigh
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.engines import Engine, find_engine
from rigright.facts.nodes import Card
from rigright.search.columns import at, stacked
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
    slots: Numbers  # whole contexts that fit, where an engine sets each aside; else endless

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
        )


def room_of(
    arch: Arch, way: Way, *, kinds: Sequence[Kind], shapes: Shapes, context_tok: int, traffic_tok: int
) -> Room:
    """Memory of every shape on every kind; the engine starts alike on all of them."""
    if kinds[0].mix:
        return _mixed_room(
            arch, way, kind=kinds[0], shapes=shapes, context_tok=context_tok, traffic_tok=traffic_tok
        )
    device = at(stacked([device_of(kind.card, way.engine) for kind in kinds]), (slice(None), None))
    weights = weigh(arch, way.weights)
    layout = shapes.layout()

    def memory(tokens: int) -> ServingMemory:
        serving = _one(way, tokens)
        return serving_memory(arch, weights, serving=serving, layout=layout, device=device, on_card=True)

    whole = memory(context_tok)
    usual = whole if traffic_tok == context_tok else memory(traffic_tok)
    seq = usual.cache_bytes + usual.states_bytes
    ranks = shapes.tp if shapes.attention_dp else 1
    tables = {
        "fits": whole.fits,
        "need_bytes": whole.need_bytes,
        "able_bytes": whole.need_bytes + whole.spare_bytes,
        "room_bytes": device.free_bytes,
        "fixed_bytes": whole.fixed_bytes,
        "seq_bytes": seq,
        "pool_tok": pool_tok(usual, traffic_tok) * ranks,
        "slots": pool_tok(whole, context_tok) / max(context_tok, 1) if way.engine.pool == "exact" else np.inf,
    }
    shape = (len(kinds), len(shapes.tp))
    return Room(**{name: np.broadcast_to(value, shape) for name, value in tables.items()})


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


def mix_dealt(arch: Arch, way: Way, *, mix: Sequence[Card], work: Work, context_tok: int) -> Dealt:
    """What part of a pass each of unlike cards does."""
    serving = _one(way, context_tok)
    places = _places(arch, mix, serving=serving, layout=Layout(pp=len(mix)))
    return deal([card.chip for card in mix], work, bounds=[bound for _, bound in places])


def evenness(arch: Arch, way: Way, *, card: Card, pp: int, work: Work, context_tok: int) -> float:
    """What is left of a pipeline's gain on cards alike: the one with the head and most layers holds it up."""
    dealt = mix_dealt(arch, way, mix=(card,) * pp, work=work, context_tok=context_tok)
    return float((1 / dealt.parts.max() - 1) / (pp - 1))


def _one(way: Way, tokens: int) -> Serving:
    return Serving(
        engine=engine_name(way.engine), weights=way.weights, kv=way.kv, context_tok=tokens, batch=1
    )


def _mixed_room(
    arch: Arch, way: Way, *, kind: Kind, shapes: Shapes, context_tok: int, traffic_tok: int
) -> Room:
    """The same of unlike cards together: only all of them, one after another."""
    layout = Layout(pp=len(kind.mix))

    def memories(tokens: int) -> tuple[ServingMemory, ...]:
        return stage_rooms(arch, cards=kind.mix, serving=_one(way, tokens), layout=layout)

    whole, usual = memories(context_tok), memories(traffic_tok)
    worst = min(whole, key=lambda one: float(one.spare_bytes))
    shape = (1, len(shapes.tp))
    tables = {
        "fits": bool(worst.fits),
        "need_bytes": float(worst.need_bytes),
        "able_bytes": float(worst.need_bytes + worst.spare_bytes),
        "room_bytes": float(max(device_of(card, way.engine).free_bytes for card in kind.mix)),
        "fixed_bytes": float(worst.fixed_bytes),
        "seq_bytes": max(float(one.cache_bytes + one.states_bytes) for one in usual),
        "pool_tok": min(float(pool_tok(one, traffic_tok)) for one in usual),
        "slots": min(float(pool_tok(one, context_tok)) for one in whole) / max(context_tok, 1),
    }
    return Room(**{name: np.broadcast_to(value, shape) for name, value in tables.items()})


def engine_name(engine: Engine) -> str:
    """An engine with its version, as it is asked for."""
    return f"{engine.id} {engine.version}"
