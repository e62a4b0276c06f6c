"""A training with every default filled in; its pipeline stages: layers, place, micro-batches in flight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rigright.arch.record import Arch, Layer
from rigright.base.errors import AskError
from rigright.base.record import dataclass, kept
from rigright.base.words import say
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.saved import Habit
from rigright.cost.weights import Form
from rigright.demand import Layout, Numbers, Training
from rigright.facts.training import Objective, Optimizer, Precision, Trainer

METHODS = ("full", "lora", "qlora", "dora")
RECOMPUTES = ("none", "selective", "full")
SCHEDULES = ("1f1b", "gpipe", "interleaved", "zero-bubble")
SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp", "hsdp")
OFFLOADS = ("none", "optimizer-cpu", "all-cpu", "optimizer-nvme", "all-nvme")
GATHERED = frozenset({"zero3", "fsdp", "hsdp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the laws read."""

    training: Training
    trainer: Trainer
    precision: Precision
    optimizer: Optimizer
    habit: Habit
    base: Form  # of a base that does not learn
    whole: Form  # of layers that are made whole
    objective: Objective | None = None  # of post-training

    @property
    def full(self) -> bool:
        """Whether the base itself learns."""
        return self.training.method == "full"

    @property
    def copies(self) -> int:
        """Frozen models of its size beside it: adapters have their reference in the base."""
        row, given = self.objective, self.training.references
        if row is None:
            return given if self.full else 0
        return given + row.rewards if self.full else row.rewards + row.critics

    @property
    def learning(self) -> int:
        """Models of that size that learn: with those that judge what it writes."""
        return 1 if self.objective is None else 1 + self.objective.critics

    @property
    def logit(self) -> float:
        """Bytes a logit at the peak; 0 where logits never stand whole."""
        if self.training.chunked_loss:
            return 0
        if self.objective is None:
            return self.trainer.logit
        return 0 if self.trainer.id in self.objective.fused else self.trainer.chosen_logit

    @property
    def forwards(self) -> int:
        """Passes without gradients over each sequence, beside its own."""
        row, given = self.objective, self.training.references
        if row is None:
            return given if self.full else min(given, 1)
        return row.forwards - (row.references if given == 0 else 0)

    @property
    def gathered(self) -> bool:
        """Whether parameters are divided and gathered layer by layer."""
        return self.training.sharding in GATHERED


def as_run(trainer: Trainer, training: Training) -> Trainer:
    """Its habits in this run: a compiler fuses norms, gates and the loss; inputs may go to the host."""
    if training.compiled:
        trainer = replace(
            trainer,
            fused_norm=True,
            fused_glu=True,
            wide_grads=min(trainer.wide_grads, 2),
            logit=min(trainer.logit, trainer.compiled_logit),
        )
    return replace(trainer, offload_checkpoints=True) if training.offload_inputs else trainer


def mixed_of(trainer: Trainer, sharding: str) -> str:
    """What mixed precision means for a trainer: DeepSpeed keeps fp32 master weights, FSDP fp32 shards."""
    if sharding in {"fsdp", "hsdp"}:
        return trainer.mixed_sharded
    return "bf16-zero" if sharding.startswith("zero") and trainer.mixed == "bf16" else trainer.mixed


def check_word(field: str, asked: str, *, known: tuple[str, ...]) -> None:
    """One of the words we know."""
    if asked not in known:
        raise AskError(
            say('{field} cannot be "{asked}"; use {known}', field=field, asked=asked, known=", ".join(known))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStage:
    """What every law of training memory speaks of; numbers may be arrays of stages and layouts."""

    arch: Arch
    setup: Setup
    layout: Layout
    index: Numbers
    counts: dict[Layer, Numbers]  # layers of each kind it holds

    @property
    def first(self) -> Numbers:
        """1 where it is the first."""
        return np.where(np.asarray(self.index) == 0, 1, 0)

    @property
    def last(self) -> Numbers:
        """1 where it is the last."""
        return np.where(np.asarray(self.index) == np.asarray(self.layout.pp) - 1, 1, 0)

    @property
    def embeds(self) -> Numbers:
        """1 where it holds the embedding: the first, and the last where the head is tied to it."""
        return np.maximum(self.first, self.last * self.arch.tied)

    @property
    def replicas(self) -> Numbers:
        """Ranks that hold the same weights: data and context parallel."""
        return np.asarray(self.layout.dp) * np.asarray(self.layout.cp)


def stage_of(arch: Arch, setup: Setup, *, layout: Layout, index: Numbers) -> TrainingStage:
    """The stage of that index, with its layers."""
    layers = trunk_of(arch).layers
    start = stage_edge(len(layers), layout.pp, stage=index)
    end = stage_edge(len(layers), layout.pp, stage=np.asarray(index) + 1)
    counts = {kind: before[end] - before[start] for kind, before in _layers_before(arch).items()}
    return TrainingStage(arch=arch, setup=setup, layout=layout, index=index, counts=counts)


@kept
def _layers_before(arch: Arch) -> dict[Layer, Numbers]:
    """How many layers of each kind stand before each place."""
    layers = trunk_of(arch).layers
    kinds = dict.fromkeys({id(layer): layer for layer in layers}.values())  # hashing a layer is slow
    return {
        kind: np.concatenate([[0], np.cumsum([layer is kind or layer == kind for layer in layers])])
        for kind in kinds
    }


def stage_edge(layers: int, stages: Numbers, *, stage: Numbers) -> Numbers:
    """The first layer of a stage, for arrays; even, the rest to the stages before the last (as `shards`)."""
    stages, stage = np.asarray(stages), np.asarray(stage)
    base, rest = layers // stages, layers % stages
    return stage * base + np.clip(stage - (stages - 1 - rest), 0, rest)


def micro_batches(stage: TrainingStage) -> Numbers:
    """Micro-batches a step gathers: as told, or as many as fill the pipeline."""
    value = stage.setup.training.accumulate
    return np.asarray(stage.layout.pp if value is None else value)


def in_flight(stage: TrainingStage) -> Numbers:
    """Micro-batches whose activations a stage holds at its worst moment; parts of one where interleaved."""
    pp, training = np.asarray(stage.layout.pp), stage.setup.training
    total, ahead = micro_batches(stage), pp - np.asarray(stage.index)
    chunks = np.asarray(training.virtual_stages)
    value = {
        "1f1b": ahead,
        "gpipe": total,
        "interleaved": np.where(pp > 1, (2 * (ahead - 1) + (chunks - 1) * pp + 1) / chunks, 1),
        "zero-bubble": 2 * ahead - 1,
    }[training.schedule]
    return np.minimum(value, total)
