"""A training demand with every default filled in from the trainer's usual settings."""

from __future__ import annotations

from dataclasses import replace

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.words import say
from rigright.cost.training_adapters import check_targets
from rigright.cost.training_saved import Habit
from rigright.demand import Training
from rigright.facts.training import (
    Optimizer,
    Precision,
    Trainer,
    find_optimizer,
    find_precision,
    find_trainer,
)

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

    @property
    def full(self) -> bool:
        """Whether the base itself learns."""
        return self.training.method == "full"

    @property
    def gathered(self) -> bool:
        """Whether parameters are divided and gathered layer by layer."""
        return self.training.sharding in GATHERED


def set_up(training: Training, *, hidden: int) -> Setup:
    """Fill in the defaults for a stream so wide; a word that is none of the known is an error."""
    trainer = as_run(find_trainer(training.trainer), training)
    usual = trainer.recompute_sharded if training.sharding in GATHERED and training.method != "full" else ""
    recompute = training.recompute or usual or trainer.recompute
    for field, known in (("method", METHODS), ("schedule", SCHEDULES), ("sharding", SHARDINGS)):
        check_word(field, getattr(training, field), known=known)
    check_word("offload", training.offload, known=OFFLOADS)
    check_word("recompute", recompute, known=RECOMPUTES)
    check_targets(training.targets)
    precision = find_precision(training.precision or mixed_of(trainer, training.sharding))
    # the stream between layers is fp32 where a 4-bit base was prepared by casting the rest
    residual = (
        max(precision.residual, trainer.frozen_residual)
        if training.method == "qlora" and training.sharding not in GATHERED
        else precision.residual
    )
    habit = Habit(
        hidden=hidden,
        compute=precision.compute,
        residual=residual,
        input=precision.input,
        own_inputs=(precision.cast > 0 and precision.residual > precision.compute)
        or (training.method == "qlora" and trainer.quantised_copies),
        full=training.method == "full",
        linear=training.method == "full" or (training.method == "qlora" and trainer.quantised_inputs),
        targets=training.targets,
        autocast=training.precision is None or "mixed" in training.precision,
        flash=training.flash,
        dropout=trainer.dropout if training.dropout is None else training.dropout,
        recompute=recompute,
        trainer=trainer,
    )
    return Setup(
        training=training,
        trainer=trainer,
        precision=precision,
        optimizer=find_optimizer(training.optimizer or trainer.optimizer),
        habit=habit,
    )


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
