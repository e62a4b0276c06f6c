"""What a training runs with: its program's habits, precision and optimizer, and what was fitted of such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rigright.arch.record import Arch
from rigright.cost.links import Wire
from rigright.cost.own_runs import TRAINING, OwnMemory, own_memory, trained_case
from rigright.cost.training.learners import check_targets
from rigright.cost.training.rates import SUBJECT, TrainingRates, reached
from rigright.cost.training.saved import Habit
from rigright.cost.training.setup import (
    GATHERED,
    METHODS,
    OFFLOADS,
    RECOMPUTES,
    SCHEDULES,
    SHARDINGS,
    Setup,
    as_run,
    check_word,
    mixed_of,
)
from rigright.demand import Training
from rigright.facts.chips import Chip
from rigright.facts.formats import find_format
from rigright.facts.training import find_optimizer, find_precision, find_trainer, objectives
from rigright.terms.fitted import fitted, noted, own_runs, wire_of

FP32_BYTES = 4
KINDS = ("allocated", "reserved", "device", "rounded")  # of peaks
COUNTED = frozenset({"allocated", "reserved", "device"})  # told by a program, not by hand


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
    bare = training.sharding not in GATHERED
    base = training.base if training.method == "qlora" else None
    halved = trainer.frozen_half and training.precision != "fp32"
    frozen = "fp32" if precision.param == FP32_BYTES and bare and not halved else "bf16"
    whole = "fp32" if precision.gather == FP32_BYTES else "bf16"
    return Setup(
        training=training,
        trainer=trainer,
        precision=precision,
        optimizer=find_optimizer(training.optimizer or trainer.optimizer),
        habit=habit,
        base=find_format(base or frozen),
        whole=find_format(base or whole),
        objective=None if training.post is None else objectives()[training.post.objective],
    )


def program_of(training: Training) -> str:
    """The program that trains, whatever its time."""
    trainer = find_trainer(training.trainer)
    return trainer.program or trainer.id


def training_rates(
    chips: Sequence[Chip],
    setup: Setup,
    *,
    tables: Mapping[str, Any] | None = None,
    wire: Wire | None = None,
) -> TrainingRates:
    """The rates of chips, in their order; `tables`: other terms than ours; `wire`: as they are joined."""
    terms = fitted(SUBJECT, tables)
    return reached(chips, setup, terms=terms, wire=wire_of(chips) if wire is None else wire)


def memory_terms() -> Mapping[str, float]:
    """What was fitted of the memory of trainings."""
    fields: Mapping[str, float] = fitted(TRAINING)["terms"]
    return fields


def own_peaks(arch: Arch, setup: Setup) -> OwnMemory:
    """What own runs say of the memory of a training."""
    own = noted(own_runs(TRAINING, engines={program_of(setup.training)}), chips={""})
    return own_memory(own, model=arch.name, case=trained_case(setup.training))


def peak_band(kind: str, *, assumed: bool, narrow: float = 1.0) -> tuple[float, float]:
    """80 % band of a peak, as multiples: wider where inputs were assumed, narrower by own peaks."""
    edges = fitted(TRAINING)["bands"]
    low, high = edges[f"{kind}_assumed" if assumed and kind in COUNTED else kind]
    return float(low) ** narrow, float(high) ** narrow
