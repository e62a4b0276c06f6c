"""Where layers go on cards that are dealt whole layers: by what is free, or by what each has room for."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.arch.record import Arch
from rigright.cost.memory_serving import Bound, layer_bytes, stage_memories
from rigright.cost.memory_settings import Device
from rigright.cost.memory_split import split_by_free, split_layers
from rigright.cost.weights import WeightBytes
from rigright.demand import Layout, Serving


def dealt_bounds(
    arch: Arch, weights: WeightBytes, *, serving: Serving, layout: Layout, devices: Sequence[Device]
) -> tuple[Bound, ...]:
    """First and past-last layer of each card: by free memory; where that overfills one, all filled alike.

    llama.cpp deals them anew by itself since December 2025 (`--fit`); before, and elsewhere, a person does.
    """
    usual = usual_bounds(arch, devices)
    places = list(zip(devices, usual, strict=True))
    dealt = stage_memories(arch, weights, serving=serving, layout=layout, places=places)
    if all(bool(memory.fits) for memory in dealt):
        return usual
    count = len(arch.trunk.layers)
    costs = layer_bytes(arch, weights, serving=serving, layout=layout, device=devices[0])
    empty = [(device, (0, 0)) for device in devices]
    bare = stage_memories(arch, weights, serving=serving, layout=layout, places=empty)
    room = [float(memory.spare_bytes) for memory in bare]
    room[-1] += costs[-1]  # the head is dealt out with the layers
    return tuple((min(first, count), min(last, count)) for first, last in split_layers(costs, room))


def usual_bounds(arch: Arch, devices: Sequence[Device]) -> tuple[Bound, ...]:
    """The same by free memory alone, whether they fit so or not."""
    free = [float(device.free_bytes - device.context_bytes) for device in devices]
    return split_by_free(len(arch.trunk.layers), free)
