"""Which GPU holds which layers, in engines that split by layer: by free memory, or by what each can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rigright.arch.record import Arch
from rigright.cost.memory.serving import Bound, CardWork, ServingMemory, layer_bytes, stage_memories, works_of
from rigright.cost.memory.settings import EngineCard, Start
from rigright.cost.memory.stages import split_by_free, split_layers
from rigright.cost.weights import WeightBytes
from rigright.demand import Layout


def dealt_bounds(
    arch: Arch, weights: WeightBytes, *, start: Start, layout: Layout, devices: Sequence[EngineCard]
) -> tuple[Bound, ...]:
    """First and past-last layer of each card: by free memory; where that overfills one, all filled alike.

    llama.cpp deals them anew by itself since December 2025 (`--fit`); before, and elsewhere, a person does.
    """
    usual = usual_bounds(arch, devices)
    asked: dict[str, Any] = {"start": start, "layout": layout}
    works = works_of(arch, devices=devices, **asked)
    memories = stage_memories(
        arch, weights, places=list(zip(devices, usual, strict=True)), works=works, **asked
    )
    if all(bool(memory.fits) for memory in memories):
        return usual
    return _filled_alike(arch, weights, devices=devices, works=works, **asked)


def dealt_memories(
    arch: Arch, weights: WeightBytes, *, start: Start, layout: Layout, devices: Sequence[EngineCard]
) -> tuple[ServingMemory, ...]:
    """Memory of each card with its layers so dealt."""
    asked: dict[str, Any] = {"start": start, "layout": layout}
    asked["works"] = works_of(arch, devices=devices, **asked)
    usual = list(zip(devices, usual_bounds(arch, devices), strict=True))
    memories = stage_memories(arch, weights, places=usual, **asked)
    if all(bool(memory.fits) for memory in memories):
        return memories
    bounds = _filled_alike(arch, weights, devices=devices, **asked)
    return stage_memories(arch, weights, places=list(zip(devices, bounds, strict=True)), **asked)


def _filled_alike(
    arch: Arch,
    weights: WeightBytes,
    *,
    start: Start,
    layout: Layout,
    devices: Sequence[EngineCard],
    works: Mapping[EngineCard, CardWork],
) -> tuple[Bound, ...]:
    count = len(arch.trunk.layers)
    costs = layer_bytes(arch, weights, work=works[devices[0]])
    empty = [(device, (0, 0)) for device in devices]
    bare = stage_memories(arch, weights, start=start, layout=layout, places=empty, works=works)
    room = [float(memory.spare_bytes) for memory in bare]
    room[-1] += costs[-1]  # the head is dealt out with the layers
    return tuple((min(first, count), min(last, count)) for first, last in split_layers(costs, room))


def usual_bounds(arch: Arch, devices: Sequence[EngineCard]) -> tuple[Bound, ...]:
    """The same by free memory alone, whether they fit so or not."""
    free = [float(device.free_bytes - device.context_bytes) for device in devices]
    return split_by_free(len(arch.trunk.layers), free)
