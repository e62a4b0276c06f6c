"""Training memory of one pipeline stage: parts, phases, peak; allocated, reserved and device told apart.

Every number of the demand and layout may be an array; the result has their common shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rigright.arch.record import Arch
from rigright.base.units import GIB
from rigright.cost.training_acts import Acts, activations
from rigright.cost.training_params import (
    adapter_states,
    bystander_bytes,
    frozen_bytes,
    full_states,
    trunk_of,
    unit_bytes,
)
from rigright.cost.training_setup import Setup, set_up
from rigright.cost.training_stages import layer_counts, micro_batches
from rigright.cost.training_states import States, kv_heads_of
from rigright.demand import Layout, Numbers, Training
from rigright.facts.corrections import corrections

PARTS = (
    "frozen", "weights", "master", "gradients", "optimizer", "activations", "working", "loss",
    "gathered", "buckets", "casts", "step",
)  # fmt: skip
Terms = Mapping[str, float]  # of data/corrections/memory_training.toml
LASTING = frozenset({"frozen", "weights", "master", "optimizer", "gradients"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMemory:
    """Bytes on one rank; arrays where the demand was."""

    parts: dict[str, Numbers]  # at the peak
    phases: dict[str, Numbers]  # totals
    allocated_bytes: Numbers
    reserved_bytes: Numbers
    device_bytes: Numbers
    host_bytes: Numbers  # moved to the host's memory
    nvme_bytes: Numbers


def training_memory(
    arch: Arch, training: Training, layout: Layout, stage: Numbers = 0, *, terms: Terms | None = None
) -> TrainingMemory:
    """Memory of the ranks of one stage (0 is the first; an array asks for many)."""
    setup = set_up(training)
    counts = layer_counts(trunk_of(arch).layers, layout.pp, stage)
    held, host = _offloaded(setup, _held(arch, setup, layout, counts, stage))
    acts = activations(arch, setup, layout, counts, stage)
    phases = _phases(arch, setup, layout, held, acts)
    totals = {name: sum(parts.values(), start=np.zeros(())) for name, parts in phases.items()}
    allocated = np.maximum.reduce(np.broadcast_arrays(*totals.values()))
    held, context = _beyond(phases, setup, layout, terms or _terms())
    on_nvme = training.offload.endswith("nvme")
    return TrainingMemory(
        parts=_at_peak(phases, totals, allocated),
        phases=totals,
        allocated_bytes=allocated,
        reserved_bytes=np.maximum(held, allocated),
        device_bytes=np.maximum(held, allocated) + context,
        host_bytes=host * (not on_nvme),
        nvme_bytes=host * on_nvme,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What stands between steps."""

    states: States
    frozen: Numbers


def _held(arch: Arch, setup: Setup, layout: Layout, counts: dict, stage: Numbers) -> _Held:  # type: ignore[type-arg]
    if setup.full:
        bystanders = bystander_bytes(arch) * np.where(np.asarray(stage) == 0, 1, 0)
        copies = setup.training.references * frozen_bytes(arch, setup, layout, counts, stage)
        return _Held(states=full_states(arch, setup, layout, counts, stage), frozen=bystanders + copies)
    return _Held(
        states=adapter_states(setup, layout, counts, kv_heads_of(arch)),
        frozen=frozen_bytes(arch, setup, layout, counts, stage) + bystander_bytes(arch),
    )


def _offloaded(setup: Setup, held: _Held) -> tuple[_Held, Numbers]:
    """What stays on the device, and what lies on the host or NVMe."""
    states, offload = held.states, setup.training.offload
    if offload == "none":
        return held, states.paged
    host = states.optimizer + states.master + states.paged
    kept = States(weights=states.weights, grads=states.grads)
    if offload.startswith("optimizer"):
        return _Held(states=kept, frozen=held.frozen), host
    return _Held(states=States(), frozen=np.zeros(())), host + states.weights + states.grads + held.frozen


def _phases(
    arch: Arch, setup: Setup, layout: Layout, held: _Held, acts: Acts
) -> dict[str, dict[str, Numbers]]:
    """Parts of each phase."""
    states, trainer = held.states, setup.trainer
    standing = {
        "frozen": held.frozen,
        "weights": states.weights,
        "master": states.master,
        "optimizer": states.optimizer,
    }
    gathered = _gathered(arch, setup, layout)
    buckets = _buckets(setup, layout, states)
    casts = states.weights / setup.precision.param * setup.precision.cast if setup.full else np.zeros(())
    stays = trainer.grads_stand | (micro_batches(setup.training, layout) > 1)
    passing = {"gathered": gathered, "buckets": buckets, "casts": casts}
    start = {
        "gradients": states.grads * np.where(stays, 1, 0),
        "activations": acts.kept,
        "working": np.maximum(acts.working - acts.loss, 0),
        "loss": acts.loss,
    }
    end = {"gradients": states.grads, "activations": acts.returned, "working": acts.working}
    partition = states.grads / max(setup.precision.grad, 1) * trainer.partition_grads * (setup.full)
    return {
        "load": standing,
        "backward-start": standing | passing | start,
        "backward-end": standing | passing | end,
        "step": standing | {"gradients": states.grads, "step": states.step + _own_share(setup, layout, partition)},
    }


def _own_share(setup: Setup, layout: Layout, partition: Numbers) -> Numbers:
    """The fp32 copy of gradients that ZeRO makes of its own partition."""
    whole = setup.training.sharding in {"zero1"}
    return partition / np.where(whole, np.asarray(layout.dp) * np.asarray(layout.cp), 1)


def _gathered(arch: Arch, setup: Setup, layout: Layout) -> Numbers:
    """One layer and what stands around the layers, whole, where parameters are divided."""
    if not setup.gathered:
        return np.zeros(())
    layer, around = unit_bytes(arch, setup, layout)
    shared = np.asarray(layout.dp) * np.asarray(layout.cp) > 1
    return np.where(shared | (setup.training.offload.startswith("all")), layer + around, 0)


def _buckets(setup: Setup, layout: Layout, states: States) -> Numbers:
    """Copies of gradients on their way to other ranks; DeepSpeed makes its two buckets at once, however few ranks."""
    if setup.training.sharding == "none":
        many = np.asarray(layout.dp) * np.asarray(layout.cp) > 1
        return np.where(many, states.grads * setup.trainer.ddp_copies, 0)
    if setup.training.sharding not in {"zero1", "zero2"}:
        return np.zeros(())
    return np.minimum(2 * setup.trainer.buckets * setup.precision.compute, states.weights)


def _beyond(
    phases: dict[str, dict[str, Numbers]], setup: Setup, layout: Layout, terms: Terms
) -> tuple[Numbers, Numbers]:
    """What the allocator holds; what context and collectives take beside it.

    What the backward pass gave back does not serve the optimizer step, whose blocks have other sizes:
    the allocator holds both.
    """
    ranks = np.asarray(layout.tp) * np.asarray(layout.pp) * np.asarray(layout.dp) * np.asarray(layout.cp)
    step = sum(phases["step"].values(), start=np.zeros(()))
    passes = np.maximum(*(_passing(phases[name]) for name in ("backward-start", "backward-end")))
    scattered = terms["scattered"] * (setup.gathered and setup.trainer.scattered)
    context = (terms["context_gib"] + np.where(ranks > 1, terms["collectives_gib"], 0)) * GIB
    return (step + passes) * (terms["reserve"] + scattered), context


def _terms() -> Terms:
    fitted: Terms = corrections("memory_training")["terms"]
    return fitted


def _passing(parts: dict[str, Numbers]) -> Numbers:
    """What a backward pass gives back."""
    return sum((size for name, size in parts.items() if name not in LASTING), start=np.zeros(()))


def _at_peak(
    phases: dict[str, dict[str, Numbers]], totals: dict[str, Numbers], allocated: Numbers
) -> dict[str, Numbers]:
    """Parts of whichever phase is the highest."""
    found: dict[str, Numbers] = {}
    taken = np.zeros(np.shape(allocated), dtype=bool)
    for name in ("backward-start", "backward-end", "step", "load"):
        here = (totals[name] == allocated) & ~taken
        taken = taken | here
        for part in PARTS:
            found[part] = np.where(here, phases[name].get(part, 0.0), found.get(part, 0.0))
    return found
