"""Memory of trainings: of one, stage by stage; of arrays, the fullest rank; and what of it people are told.

`explain`, every row of `plan`, a row of a table of runs and the lab ask here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.cost.estimate import Estimate
from rigright.cost.training.memory import PARTS, Terms, TrainingMemory, rank_memory
from rigright.demand import Layout, Numbers, Training
from rigright.facts.anchors import anchors, unmoved
from rigright.predict.columns import at
from rigright.predict.trained import TrainingCase, alike, columns_of, in_sequences, setup_of
from rigright.terms.training import COUNTED, KINDS, memory_terms, own_peaks, peak_band

__all__ = ["COUNTED", "KINDS", "PARTS", "Terms", "TrainingMemory"]
T = TypeVar("T", Training, Layout)
SHOWN = "device"  # the peak that people are told: what the driver shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Fullest:
    """What the fullest ranks of each training take: arrays of one entry a case."""

    allocated_bytes: Numbers
    reserved_bytes: Numbers
    device_bytes: Numbers
    least_bytes: Numbers  # once the allocator gave back all it can: whether it fits
    passing_bytes: Numbers  # of the allocated, what comes and goes with a step
    narrow: Numbers  # of the band, what own peaks leave

    def of_kind(self, kind: str, *, limit_bytes: Numbers | None = None) -> Numbers:
        """Bytes as a program measures them: the allocator gives back what a card has no room for."""
        if kind == "allocated":
            return self.allocated_bytes
        value = self.reserved_bytes if kind == "reserved" else self.device_bytes
        return value if limit_bytes is None else np.minimum(value, np.maximum(self.least_bytes, limit_bytes))


def training_memory(
    arch: Arch, training: Training, *, layout: Layout, stage: Numbers = 0, terms: Terms | None = None
) -> TrainingMemory:
    """Memory of the ranks of one stage (0 is the first; an array asks for many). `terms`: not ours."""
    setup = setup_of(arch, in_sequences(training))
    terms, own = terms or memory_terms(), own_peaks(arch, setup)
    memory = rank_memory(arch, setup, layout=layout, stage=stage, terms=terms, own=own)
    if training.post is None or not training.post.rollout:
        return memory
    from rigright.predict.rollout import engine_bytes

    return memory.with_engine(engine_bytes(arch, training, layout=layout))


@unmoved
def stages(arch: Arch, training: Training, *, layout: Layout) -> TrainingMemory:
    """Every pipeline stage of one training."""
    return training_memory(arch, training, layout=layout, stage=np.arange(layout.pp))


def least_bytes(arch: Arch, training: Training, *, layout: Layout, most: Numbers = np.inf) -> Numbers:
    """Of trainings as arrays, what decides whether they fit; of the first stage alone beyond `most`."""
    first = training_memory(arch, training, layout=layout).least_bytes
    shape = np.broadcast_shapes(np.shape(first), np.shape(layout.pp))
    values, pps = np.array(np.broadcast_to(first, shape)), np.broadcast_to(layout.pp, shape)
    places = np.nonzero((pps > 1) & (values <= most))
    if len(places[0]):
        of, stage, starts = _staged(pps[places])
        spread = tuple(axis[of] for axis in places)
        some = _places(training, spread, shape=shape), _places(layout, spread, shape=shape)
        sizes = training_memory(arch, some[0], layout=some[1], stage=stage).least_bytes
        values[places] = np.maximum.reduceat(np.broadcast_to(sizes, of.shape), starts)
    return values


def _staged(pps: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """An entry for every stage of each: whose it is, which, and where each begins."""
    of = np.repeat(np.arange(len(pps)), pps)
    starts = np.cumsum(pps) - pps
    return of, np.arange(len(of)) - starts[of], starts


def _places(record: T, places: tuple[Numbers, ...], *, shape: tuple[int, ...]) -> T:
    """Some places of each array of a record; what is no array stays."""
    arrays: dict[str, Any] = {
        field.name: np.broadcast_to(value, shape)[places]
        for field in fields(record)
        if isinstance(value := getattr(record, field.name), np.ndarray) and value.ndim
    }
    return replace(record, **arrays)


def fullest_of(cases: Sequence[TrainingCase], *, terms: Terms | None = None) -> Fullest:
    """The fullest rank of any cases, in their order; those alike in one call of the law."""
    columns = {field.name: np.full(len(cases), np.nan) for field in fields(Fullest)}
    for places in alike_in_memory(cases):
        fullest = _fullest([cases[place] for place in places], terms=terms)
        for name, column in columns.items():
            column[list(places)] = getattr(fullest, name)
    return Fullest(**columns)


def alike_in_memory(cases: Sequence[TrainingCase]) -> Iterator[tuple[int, ...]]:
    """Places of cases that share a call of the law; own runs move each case by itself."""
    return ((place,) for place in range(len(cases))) if anchors() else alike(cases)


def _fullest(cases: Sequence[TrainingCase], *, terms: Terms | None) -> Fullest:
    """Of cases alike: every stage is an entry, and each case takes its fullest."""
    training, layout = columns_of(cases)
    pps = layout.pp
    of, stage, starts = _staged(pps)
    spread = (at(training, of), at(layout, of)) if len(of) > len(cases) else (training, layout)
    memory = training_memory(cases[0].arch, spread[0], layout=spread[1], stage=stage, terms=terms)
    names = ("allocated_bytes", "reserved_bytes", "device_bytes", "least_bytes")
    sizes = {name: np.broadcast_to(getattr(memory, name), of.shape) for name in (*names, "passing_bytes")}
    values = {name: np.maximum.reduceat(sizes[name], starts) for name in names}
    last = np.lexsort((-stage, sizes["allocated_bytes"], of))[
        np.cumsum(pps) - 1
    ]  # of stages as full, the first
    values["passing_bytes"] = sizes["passing_bytes"][last]
    return Fullest(**values, narrow=np.full(len(cases), memory.narrow))


def peak(
    value: float,
    kind: str = SHOWN,
    *,
    assumed: bool = False,
    narrow: float = 1.0,
    room_bytes: float | None = None,
) -> Estimate:
    """A peak with its 80 % band; `room_bytes`: of a card on which it runs, and that shows no more."""
    low, high = peak_band(kind, assumed=assumed, narrow=narrow)
    return ended(Estimate(value=value, low=value * low, high=value * high), room_bytes=room_bytes)


FULL, LEAST_FULL = 0.92, 0.6  # of a card that a run fills which needs more by our count: likely, and at least


def ended(estimate: Estimate, *, room_bytes: float | None) -> Estimate:
    """A peak of a run that ends well lies within what its card holds."""
    room = room_bytes
    if room is None or estimate.high <= room:
        return estimate
    if estimate.value <= room:
        return replace(estimate, high=room)
    return replace(estimate, value=FULL * room, low=min(estimate.low, LEAST_FULL * room), high=room)


def least(arch: Arch, training: Training, *, layout: Layout) -> Estimate:
    """The fullest rank of all stages once the allocator gave back all it can: whether it fits."""
    memory = stages(arch, training, layout=layout)
    return peak(float(np.max(memory.least_bytes)), narrow=memory.narrow)


def most_bytes(least: Numbers, *, narrow: float = 1.0) -> Numbers:
    """The upper end of what decides whether they fit."""
    return least * peak_band(SHOWN, assumed=False, narrow=narrow)[1]


def shown(
    arch: Arch, training: Training, *, layout: Layout, room_bytes: float
) -> tuple[Estimate, dict[str, float]]:
    """The most that the driver shows of any rank, with its 80 % band; by part, "rest" as none explains."""
    memory = stages(arch, training, layout=layout)
    stage = int(np.argmax(np.broadcast_to(memory.shown_bytes(room_bytes), layout.pp)))
    sizes = {part: stage_of(size, stage) for part, size in memory.parts.items()}
    estimate = shown_stage(memory, stage, room_bytes=room_bytes)
    parts = (*sizes.items(), ("rest", estimate.value - sum(sizes.values())))
    return estimate, {part: size for part, size in parts if size > 0}


def shown_stage(memory: TrainingMemory, stage: int, *, room_bytes: float) -> Estimate:
    """What the driver shows of one stage, on a card of that size."""
    fits = stage_of(memory.least_bytes, stage) <= room_bytes
    value = stage_of(memory.shown_bytes(room_bytes), stage)
    return peak(value, narrow=memory.narrow, room_bytes=room_bytes if fits else None)


def stage_of(sizes: Numbers, stage: int) -> float:
    """Of sizes by stage, those of one; a single one holds for all."""
    flat = np.atleast_1d(sizes)
    return float(flat[stage if len(flat) > 1 else 0])
