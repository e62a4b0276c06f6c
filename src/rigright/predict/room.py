"""Room of replicas: what of a card is left for caches, and how many sequences and tokens that holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import reduce

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.cost.memory.serving import (
    Bound,
    ServingMemory,
    less_spare,
    pool_tok,
    rank_memories,
    stage_memories,
)
from rigright.cost.memory.settings import EngineCard
from rigright.cost.memory.stages import rank_stages
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.engines import find_engine
from rigright.facts.nodes import Card
from rigright.terms.memory import device_of, started, weigh


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What one replica has: arrays of one shape, such as [kind of card, layout]."""

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
        return Room(**{field.name: getattr(self, field.name)[row, column] for field in fields(Room)})

    def less(self, taken_bytes: Numbers, *, share: float = 1.0) -> Room:
        """The same with so much more on every rank of a shape, and such a share of the caches' memory."""
        free = self.able_bytes - self.fixed_bytes
        part = share * np.maximum(free - taken_bytes, 0.0) / np.maximum(free, 1.0)
        return replace(
            self,
            fits=self.fits & (self.need_bytes + taken_bytes <= self.able_bytes),
            need_bytes=self.need_bytes + taken_bytes,
            fixed_bytes=self.fixed_bytes + taken_bytes,
            pool_tok=self.pool_tok * part,
            slots=np.maximum(self.slots * np.maximum(part, 1e-9), np.minimum(self.slots, 1.0)),
            contexts=self.contexts * part,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a replica shall hold."""

    context_tok: Numbers  # the longest sequence
    traffic_tok: Numbers  # a usual one
    most_seqs: Numbers  # sequences that are worth a slot


def room_of(
    arch: Arch, serving: Serving, *, device: EngineCard, layout: Layout, asked: Asked, shape: tuple[int, ...]
) -> Room:
    """Memory of replicas of one engine's settings: on devices alike or not, of any layouts, as arrays."""
    weights, plain = weigh(arch, serving.weights), started(serving)
    stages = rank_stages(arch, weights, start=plain, layout=layout, on_card=True)

    def memories(tokens: Numbers, batch: Numbers = 1) -> list[ServingMemory]:
        start = replace(plain, serving=replace(serving, context_tok=tokens, batch=batch))
        return rank_memories(arch, start=start, layout=layout, device=device, stages=stages)

    if device.own:  # measured starts are stated by their lengths
        each, most = memories(asked.traffic_tok), memories(asked.context_tok)
    else:
        each, most = _of_both(memories, asked, ndim=len(shape))
    whole, usual = reduce(less_spare, most), reduce(less_spare, each)
    seq = usual.cache_bytes + usual.states_bytes
    ranks = layout.tp if layout.attention_dp else 1
    contexts = pool_tok(whole, asked.context_tok) / asked.context_tok
    tables = {
        "fits": whole.fits,
        "need_bytes": whole.need_bytes,
        "able_bytes": whole.need_bytes + whole.spare_bytes,
        "room_bytes": device.free_bytes,
        "fixed_bytes": whole.fixed_bytes,
        "seq_bytes": seq,
        "pool_tok": np.minimum.reduce([pool_tok(memory, asked.traffic_tok) for memory in each]) * ranks,
        "slots": np.inf
        if find_engine(serving.engine).pool == "share"
        else _slots(
            lambda count: reduce(less_spare, memories(asked.context_tok, count)).spare_bytes,
            first=whole.spare_bytes,
            linear=np.broadcast_to(contexts, shape),
            cap=asked.most_seqs,
        ),
        "contexts": contexts * ranks,
    }
    return Room(**{name: np.broadcast_to(value, shape) for name, value in tables.items()})


def _of_both(
    memories: Callable[[Numbers], list[ServingMemory]], asked: Asked, *, ndim: int
) -> tuple[list[ServingMemory], list[ServingMemory]]:
    """Memory with a usual sequence, and with the longest: both in one call, along an axis of their own."""
    usual, longest = np.asarray(asked.traffic_tok, dtype=float), np.asarray(asked.context_tok, dtype=float)
    if np.array_equal(usual, longest):
        return (result := memories(asked.traffic_tok)), result
    both = np.stack(np.broadcast_arrays(usual, longest))
    result = memories(both.reshape(2, *(1,) * (ndim - usual.ndim), *both.shape[1:]))

    def part(memory: ServingMemory, place: int) -> ServingMemory:
        values = {name.name: getattr(memory, name.name) for name in fields(ServingMemory)}
        return ServingMemory(
            **{name: value[place] if np.ndim(value) > ndim else value for name, value in values.items()}
        )

    return [part(memory, 0) for memory in result], [part(memory, 1) for memory in result]


def _slots(spare: Callable[[Numbers], Numbers], *, first: Numbers, linear: Numbers, cap: Numbers) -> Numbers:
    """The most sequences that fit, at most `cap`; one where not even that does.

    What is left falls ever faster with them: a straight line from one on (`first`: left with it) holds
    too many, and its chord to that end too few; between these by halving.
    """
    most = np.clip(np.minimum(np.nan_to_num(np.floor(linear), posinf=np.inf), cap), 1, None)
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
    return stage_memories(arch, weights, start=started(serving), layout=layout, places=places)


def _places(
    arch: Arch, cards: Sequence[Card], *, serving: Serving, layout: Layout
) -> list[tuple[EngineCard, Bound]]:
    from rigright.cost.memory.places import dealt_bounds

    start, weights = started(serving), weigh(arch, serving.weights)
    devices = [device_of(card, start.engine) for card in cards]
    bounds = dealt_bounds(arch, weights, start=start, layout=layout, devices=devices)
    return list(zip(devices, bounds, strict=True))


def mixed_room(arch: Arch, serving: Serving, *, mix: Sequence[Card], asked: Asked, width: int) -> Room:
    """The same of unlike cards together, one after another: a table of so many columns alike."""
    layout, engine = Layout(pp=len(mix)), find_engine(serving.engine)
    shape = (1, width)

    def memories(tokens: Numbers, batch: int = 1) -> tuple[ServingMemory, ...]:
        kept = replace(serving, context_tok=tokens, batch=batch)
        return stage_rooms(arch, cards=mix, serving=kept, layout=layout)

    def spare(count: Numbers) -> Numbers:
        result = memories(asked.context_tok, int(count.max()))
        return np.full(shape, min(float(memory.spare_bytes) for memory in result))

    whole, usual = memories(asked.context_tok), memories(asked.traffic_tok)
    worst = min(whole, key=lambda memory: float(memory.spare_bytes))
    tables = {
        "fits": bool(worst.fits),
        "need_bytes": float(worst.need_bytes),
        "able_bytes": float(worst.need_bytes + worst.spare_bytes),
        "room_bytes": float(max(device_of(card, engine).free_bytes for card in mix)),
        "fixed_bytes": float(worst.fixed_bytes),
        "seq_bytes": max(float(memory.cache_bytes + memory.states_bytes) for memory in usual),
        "pool_tok": min(float(pool_tok(memory, asked.traffic_tok)) for memory in usual),
        "slots": _slots(
            spare, first=float(worst.spare_bytes), linear=np.full(shape, np.inf), cap=asked.most_seqs
        ),
        "contexts": min(float(pool_tok(memory, asked.context_tok)) for memory in whole) / asked.context_tok,
    }
    return Room(**{name: np.broadcast_to(value, shape) for name, value in tables.items()})
