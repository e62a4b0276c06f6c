"""What has to be said of a chosen training: idle cards, a larger batch, tight memory, its precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rigright.arch.record import Arch
from rigright.base.units import show_bytes
from rigright.base.words import DECIDES, Sentence, say
from rigright.choice.training import is_pure
from rigright.cost.training.setup import GATHERED, mixed_of
from rigright.demand import Layout, Training
from rigright.facts.chips import Chip
from rigright.facts.training import find_precision, find_trainer
from rigright.predict.trained import TrainingCase
from rigright.predict.trained_memory import least, stages
from rigright.predict.trained_unsaid import least_over


def too_long(arch: Arch, seq_tok: int | None) -> Iterator[Sentence]:
    """A length that was said and that the model was not made for."""
    if seq_tok and arch.max_context_tok and seq_tok > arch.max_context_tok:
        yield say(
            "{asked} tokens exceed the model's context of {most}",
            asked=f"{seq_tok:,}", most=f"{arch.max_context_tok:,}",
        ).of(DECIDES)  # fmt: skip


def length_decides(
    arch: Arch, training: Training, *, layout: Layout, room_bytes: float
) -> Iterator[Sentence]:
    """What hangs on the length of a sequence that nobody said: the peak, or even whether it fits."""
    if not arch.vocab:
        return
    cut = bool(layout.tp > 1 or layout.pp > 1)
    work = "pretraining" if training.method == "full" and cut else "training"
    case = TrainingCase(arch=arch, training=training, layout=layout)
    decides = least_over(case, "seq_tok", work=work)
    if decides is None:
        return
    fields = {
        "option": decides.prior.option,
        "least": show_bytes(decides.least),
        "most": show_bytes(decides.most),
    }
    if decides.least <= room_bytes < decides.most:
        yield say("whether it fits depends on {option}: {least} to {most} per GPU", **fields).of(DECIDES)
    else:
        yield say("depends on {option}: {least} to {most} per GPU", **fields)


def training_notes(
    arch: Arch, training: Training, *, layout: Layout, chip: Chip, room_bytes: float
) -> Iterator[Sentence]:
    """What the precision costs, and whether memory is tight."""
    rank = least(arch, training, layout=layout)
    if rank.value <= room_bytes < rank.high:
        yield say(
            "memory is tight: a GPU may need up to {high} of its {room}; use a smaller "
            "micro-batch or more checkpointing",
            high=show_bytes(rank.high),
            room=show_bytes(room_bytes),
        )
    if training.post is not None:
        from rigright.predict.rollout import post_notes

        yield from post_notes(training, chip=chip)
    if training.offload != "none":
        memory = stages(arch, training, layout=layout)
        away = float(np.max(memory.host_bytes + memory.nvme_bytes)) * layout.tp * layout.dp * layout.cp
        yield say(
            "{size} of optimizer states are off the GPU ({offload}): each step crosses PCIe twice",
            size=show_bytes(away),
            offload=training.offload,
        )
    precision = training.precision or mixed_of(find_trainer(training.trainer), training.sharding)
    form = find_precision(precision).id
    if is_pure(training):
        master = f"{form}-sharded" if training.sharding in GATHERED else f"{form}-mixed"
        need = least(arch, replace(training, precision=master), layout=layout)
        yield say(
            "pure {form} keeps no fp32 master weights: small updates are lost and the final loss "
            "can be higher; --precision {master} keeps them and needs {need} per GPU",
            form=form,
            master=master,
            need=show_bytes(need.value),
        )
    elif form.startswith("fp16") and chip.bf16_flops_per_s is None:
        yield say("{chip} has no bf16: training runs in fp16 with loss scaling", chip=chip.name)


def batch_notes(training: Training, *, layout: Layout, batch: int | None, cards: int) -> Iterator[Sentence]:
    """Cards that stand idle, and a step that gathers more than was asked."""
    used = int(layout.tp * layout.pp * layout.dp * layout.cp)
    if used < cards and batch is not None and layout.dp * 2 > batch:
        yield say(
            "{used} of {cards} GPUs in use: a batch of {batch} sequences cannot fill more replicas",
            used=f"{used:,}", cards=f"{cards:,}", batch=f"{batch:,}",
        ).of(DECIDES)  # fmt: skip
    elif used < cards:
        yield say("{used} of {cards} GPUs in use: no layout that fits uses all of them",
                  used=f"{used:,}", cards=f"{cards:,}").of(DECIDES)  # fmt: skip
    gathered = int(training.micro_batch * (training.accumulate or 1) * layout.dp)
    if batch is not None and gathered != batch:
        yield say(
            "each step accumulates {gathered} sequences, not {batch}: not divisible by "
"{replicas} replicas",
            gathered=f"{gathered:,}", batch=f"{batch:,}", replicas=f"{int(layout.dp):,}",
        )  # fmt: skip
