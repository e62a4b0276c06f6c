"""Training memory of one pipeline stage: parts, phases, peak; allocated, reserved and device separately.

Every number of the demand and layout may be an array; the result has their common shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.units import GIB
from rigright.cost.own_runs import PEAK, OwnMemory
from rigright.cost.training.acts import Acts, activations
from rigright.cost.training.learners import bystander_bytes, untied
from rigright.cost.training.setup import Setup, TrainingStage, micro_batches, stage_of
from rigright.cost.training.states import States, adapter_states, frozen_bytes, full_states, unit_bytes
from rigright.demand import Layout, Numbers

PARTS = (
    "frozen",
    "weights",
    "master",
    "gradients",
    "optimizer",
    "activations",
    "working",
    "loss",
    "gathered",
    "buckets",
    "casts",
    "step",
    "engine",
    "kv",
)
LASTING = frozenset({"frozen", "weights", "master", "optimizer", "gradients", "engine", "kv"})
SCORED = 1 / 3  # of the bytes of logits: in 16 bit and in fp32, with no gradients
PASSES = ("backward-start", "backward-end")
SQUEEZED = 1.01  # reserved over allocated on cards that were all but full (fms-acceleration, 74.8 GiB of 80)

Parts = dict[str, Numbers]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBytes:
    """What an engine that writes completions takes of a GPU."""

    mode: str  # "sleep": lets go of its weights and cache while the model learns; "colocate"; "apart"
    always_bytes: Numbers  # its kernels and graphs
    awake_bytes: Numbers  # its own copy of the weights, its step
    cache_bytes: Numbers


Terms = Mapping[str, float]  # of data/corrections/memory_training.toml


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMemory:
    """Bytes on one rank; arrays where the demand was."""

    by_phase: dict[str, Parts]  # parts of each phase
    phases: Parts  # their totals
    allocated_bytes: Numbers
    reserved_bytes: Numbers
    device_bytes: Numbers
    least_bytes: Numbers  # on the device once the allocator gave back all it can: decides whether it fits
    host_bytes: Numbers  # moved to the host's memory
    nvme_bytes: Numbers
    narrow: float = 1.0  # of its band, what own peaks leave

    @property
    def parts(self) -> Parts:
        """Parts of whichever phase is the highest."""
        fields: Parts = dict.fromkeys(PARTS, np.zeros(()))
        taken = np.zeros(np.shape(self.allocated_bytes), dtype=bool)
        for name, parts in reversed(self.by_phase.items()):
            here = (self.phases[name] == self.allocated_bytes) & ~taken
            taken = taken | here
            fields = {part: np.where(here, parts.get(part, 0.0), size) for part, size in fields.items()}
        return fields

    def with_engine(self, engine: EngineBytes) -> TrainingMemory:
        """The same beside an engine that wakes, stays, or has GPUs of its own."""
        asleep = {"engine": engine.always_bytes}
        awake = {"engine": engine.always_bytes + engine.awake_bytes, "kv": engine.cache_bytes}
        beside = {"sleep": asleep, "colocate": awake, "apart": {}}[engine.mode]
        rest = {name: parts | beside for name, parts in self.by_phase.items()}
        phases = {"rollout": (self.by_phase["load"] if beside else {}) | awake, **rest}
        totals = {name: sum(parts.values(), start=np.zeros(())) for name, parts in phases.items()}
        allocated = np.maximum.reduce(np.broadcast_arrays(*totals.values()))
        reserved = np.maximum(self.reserved_bytes + sum(beside.values(), start=np.zeros(())), allocated)
        context = self.device_bytes - self.reserved_bytes
        return replace(
            self,
            by_phase=phases,
            phases=totals,
            allocated_bytes=allocated,
            reserved_bytes=reserved,
            device_bytes=reserved + context,
            least_bytes=allocated * SQUEEZED + context,
        )

    def shown_bytes(self, room_bytes: Numbers) -> Numbers:
        """What people are told: the figure of the driver, or what is needed where the card has less."""
        return np.where(self.device_bytes <= room_bytes, self.device_bytes, self.least_bytes)

    @property
    def passing_bytes(self) -> Numbers:
        """What comes and goes with a step, of the highest phase."""
        return _passing(self.parts)


def rank_memory(
    arch: Arch, setup: Setup, *, layout: Layout, stage: Numbers, terms: Terms, own: OwnMemory
) -> TrainingMemory:
    """Memory of the ranks of one stage (0 is the first; an array asks for many); `own`: peaks of own runs."""
    arch = untied(arch) if setup.trainer.unties else arch
    here = stage_of(arch, setup, layout=layout, index=stage)
    # states of what learns, and what is frozen beside it
    idle = bystander_bytes(here.arch) * here.first
    copies = setup.copies + (not setup.full)
    learnt = full_states(here) if setup.full else adapter_states(here)
    if setup.learning > 1:
        sizes = {field.name: getattr(learnt, field.name) * setup.learning for field in fields(learnt)}
        learnt = replace(learnt, **sizes)
    states = _StepState(
        states=learnt,
        frozen=idle + (copies * frozen_bytes(here) if copies else 0),
    )
    step_state, host = _offloaded(setup, states)
    phases = _phases(here, step_state, acts=activations(here))
    phases = {name: _moved(parts, own.shift.get(PEAK, 1.0)) for name, parts in phases.items()}
    totals = {name: sum(parts.values(), start=np.zeros(())) for name, parts in phases.items()}
    allocated = np.maximum.reduce(np.broadcast_arrays(*totals.values()))
    reserved = np.maximum(_reserved(phases, setup, terms=terms), allocated)
    # CUDA context, and NCCL where ranks talk
    ranks = np.asarray(layout.tp) * np.asarray(layout.pp) * np.asarray(layout.dp) * np.asarray(layout.cp)
    context = (terms["context_gib"] + np.where(ranks > 1, terms["collectives_gib"], 0)) * GIB
    on_nvme = setup.training.offload.endswith("nvme")
    return TrainingMemory(
        by_phase=phases,
        phases=totals,
        allocated_bytes=allocated,
        reserved_bytes=reserved,
        device_bytes=reserved + context,
        least_bytes=allocated * SQUEEZED + context,
        host_bytes=host * (not on_nvme),
        nvme_bytes=host * on_nvme,
        narrow=own.narrow.get(PEAK, 1.0),
    )


def _moved(parts: Parts, shift: float) -> Parts:
    """What comes and goes with a step, where own peaks put it."""
    if shift == 1.0:
        return parts
    return {name: size if name in LASTING else size * shift for name, size in parts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepState:
    """What stands between steps."""

    states: States
    frozen: Numbers


def _offloaded(setup: Setup, step_state: _StepState) -> tuple[_StepState, Numbers]:
    """What stays on the device, and what lies on the host or NVMe."""
    states, offload = step_state.states, setup.training.offload
    if offload == "none":
        return step_state, states.paged
    host = states.optimizer + states.master + states.paged
    kept = States(weights=states.weights, grads=states.grads)
    if offload.startswith("optimizer"):
        return _StepState(states=kept, frozen=step_state.frozen), host
    return _StepState(
        states=States(), frozen=np.zeros(())
    ), host + states.weights + states.grads + step_state.frozen


def _phases(stage: TrainingStage, step_state: _StepState, *, acts: Acts) -> dict[str, Parts]:
    """Parts of each phase."""
    states, setup = step_state.states, stage.setup
    standing = {
        "frozen": step_state.frozen,
        "weights": states.weights,
        "master": states.master,
        "optimizer": states.optimizer,
    }
    passing = {
        "gathered": _gathered(stage, step_state),
        "buckets": _buckets(stage, states),
        "casts": states.weights / setup.precision.param * setup.precision.cast * setup.full,
    }
    stays = np.where(setup.trainer.grads_stand | (micro_batches(stage) > 1), 1, 0)
    used = setup.training.step_in_backward  # gradients of one layer at a time
    gradients = np.minimum(unit_bytes(stage), states.grads) if used else states.grads
    start = {
        "gradients": gradients * stays,
        "activations": acts.kept,
        "working": np.maximum(acts.working - acts.loss, 0),
        "loss": acts.loss,
    }
    end = {"gradients": gradients, "activations": acts.returned, "working": acts.ending}
    scored = {"working": acts.working - acts.loss, "loss": acts.loss * SCORED}
    scored = {name: np.maximum(size, 0) for name, size in scored.items()}
    return {
        "load": standing,
        **({"scoring": standing | {"gathered": passing["gathered"]} | scored} if setup.forwards else {}),
        "backward-start": standing | passing | start,
        "backward-end": standing | passing | end,
        "step": standing
        | {"gradients": gradients, "step": states.step * (not used) + _partition(stage, states)},
    }


def _partition(stage: TrainingStage, states: States) -> Numbers:
    """The fp32 copy of gradients that ZeRO makes of its own partition."""
    setup = stage.setup
    elems = states.grads / setup.precision.grad * setup.full
    whole = setup.training.sharding == "zero1"  # gradients still whole on each rank
    return elems * setup.trainer.partition_grads / np.where(whole, stage.replicas, 1)


def _gathered(stage: TrainingStage, step_state: _StepState) -> Numbers:
    """One layer and what stands around the layers, whole, where parameters are divided."""
    if not stage.setup.gathered:
        return np.zeros(())
    if stage.setup.trainer.keeps_whole and not stage.setup.full:  # a frozen base is never let go of
        return np.where(stage.replicas > 1, step_state.frozen * stage.replicas, 0)
    away = stage.setup.training.offload.startswith("all")
    return np.where((stage.replicas > 1) | away, unit_bytes(stage), 0)


def _buckets(stage: TrainingStage, states: States) -> Numbers:
    """Gradients on their way to other ranks; DeepSpeed makes its two buckets however few ranks there are."""
    setup = stage.setup
    if setup.training.sharding == "none":
        return np.where(stage.replicas > 1, states.grads * setup.trainer.ddp_copies, 0)
    if setup.training.sharding not in {"zero1", "zero2"}:
        return np.zeros(())
    return np.minimum(2 * setup.trainer.buckets * setup.precision.compute, states.weights)


def _reserved(phases: dict[str, Parts], setup: Setup, *, terms: Terms) -> Numbers:
    """What the allocator holds.

    What the backward pass gave back does not serve the optimizer step, whose blocks have other sizes:
    the allocator holds both.
    """
    step = sum(phases["step"].values(), start=np.zeros(()))
    passes = np.maximum(*(_passing(phases[name]) for name in PASSES))
    scattered = terms["scattered"] * (setup.gathered and setup.trainer.scattered)
    return (step + passes) * (terms["reserve"] + scattered)


def _passing(parts: Parts) -> Numbers:
    """What a backward pass gives back."""
    return sum((size for name, size in parts.items() if name not in LASTING), start=np.zeros(()))
