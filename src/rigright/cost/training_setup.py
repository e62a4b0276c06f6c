"""A training demand with every default filled in: the trainer's habits, precision and optimizer."""

from __future__ import annotations

from dataclasses import replace

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.words import say
from rigright.cost.training_saved import Habit
from rigright.cost.weights import Form
from rigright.demand import Training
from rigright.facts.training import Optimizer, Precision, Trainer

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

    @property
    def full(self) -> bool:
        """Whether the base itself learns."""
        return self.training.method == "full"

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
