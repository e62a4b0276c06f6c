"""The space of trainings as arrays: each way to train on the kinds it runs on, its layouts and batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from math import gcd

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.choice.training import Able, Space, able_of, spaces_of
from rigright.cost.training.learners import trunk_of
from rigright.demand import Numbers, PlanWish, Training, TrainingWish
from rigright.facts.chips import Chip
from rigright.facts.engines import how_runs
from rigright.search.question import Kind, Question

TUNED_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 64)
PRETRAINED_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
SAID = ("method", "objective", "group", "prompts", "completion_tok", "trainer", "seq_tok", "global_batch")
OVERSHOOT = 1.25  # a step may gather so much more than was asked, where replicas do not divide it
LINKED = 4  # chips of a link domain that pre-training wants at least


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWay:
    """A space of trainings, and the kinds it is tried on (by their place)."""

    space: Space
    kinds: tuple[int, ...]

    @property
    def training(self) -> Training:
        """How to train: everything but layout, micro-batch and accumulation."""
        return self.space.training

    @property
    def label(self) -> str:
        """The way in a few words, as the flags write it."""
        training = self.training
        words = [
            training.trainer,
            training.method,
            training.optimizer,
            training.sharding,
            training.recompute,
            training.offload,
        ]
        return " ".join(word for word in words if word not in {None, "none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Layouts with micro-batches: arrays of one length."""

    tp: Numbers
    pp: Numbers
    dp: Numbers
    cp: Numbers
    ep: Numbers
    micro_batch: Numbers
    accumulate: Numbers

    @property
    def n_chips(self) -> Numbers:
        """Chips of all ranks."""
        return self.tp * self.pp * self.dp * self.cp


def training_wish(wish: PlanWish) -> TrainingWish:
    """What a wish for a plan says of the training."""
    return TrainingWish(**{name: getattr(wish, name) for name in SAID})


def ways_of(
    question: Question, wish: TrainingWish, *, usual: bool = True, anywhere: bool = False
) -> tuple[TrainingWay, ...]:
    """Every way to try; `usual`: as such trainings are mostly run; `anywhere`: on chips few train on, too."""
    groups: dict[Space, list[int]] = {}
    spaces: dict[Able, tuple[Space, ...]] = {}
    work = question.wish.work
    for place, kind in enumerate(question.kinds):
        if kind.chip.training_flops_per_s is None and kind.chip.fp32_flops_per_s is None:
            continue  # no speed of it is known
        able = able_of(kind.chip)
        if able not in spaces:
            spaces[able] = spaces_of(question.arch, wish, work=work, able=able, usual=usual)
        for space in spaces[able]:
            if anywhere or trains(kind, work, space=space):
                groups.setdefault(space, []).append(place)
    return tuple(TrainingWay(space=space, kinds=tuple(places)) for space, places in groups.items())


def trains(kind: Kind, work: str, *, space: Space) -> bool:
    """Whether training runs there; what few train on, or lacks a fast link, is not taken unasked."""
    chip: Chip = kind.chip
    training = space.training
    in_8_bit = training.optimizer is not None and training.optimizer.startswith("adamw-8bit")
    forms = ("nf4",) if training.method == "qlora" or in_8_bit else ("bf16", "fp16")
    if not any(how_runs("transformers", form, chip=chip) for form in forms):
        return False
    links = chip.segment == "datacenter" and (chip.link_max_chips or 0) >= LINKED
    usual = chip.vendor in {"NVIDIA", "AMD"} and chip.segment in {"consumer", "workstation", "datacenter"}
    wants = work == "pretrain" or space.sequence_parallel
    return kind.named or (links if wants else usual)


def cuts_of(arch: Arch, space: Space, *, counts: Sequence[int], batch: int | None) -> Cuts:
    """Every layout of every number of chips, with every micro-batch that gathers the batch.

    A replica has at least one sequence, and the batch is met exactly wherever the replicas divide it.
    `batch` is None where micro-batch and accumulation were said.
    """
    training = space.training
    axes = (np.asarray(counts), space.tp, space.pp, space.cp, space.ep, space.micro_batch)
    grid = np.meshgrid(*(np.asarray(axis, dtype=np.int64) for axis in axes), indexing="ij")
    count, tp, pp, cp, ep, micro = (column.ravel() for column in grid)
    dp, rest = np.divmod(count, tp * pp * cp)
    layers = trunk_of(arch).layers
    heads = gcd(*(layer.mixer.heads for layer in layers if layer.mixer is not None))
    experts = max((layer.ffn.experts for layer in layers if layer.ffn is not None), default=0)
    keeps = (rest == 0) & (dp > 0) & (heads % tp == 0) & (pp * training.virtual_stages <= len(layers))
    keeps &= (ep == 1) | ((experts > 0) & (experts % ep == 0) & ((tp * dp * cp) % ep == 0))
    keeps &= (dp == space.dp) if space.dp is not None else True
    keeps &= dp * cp >= space.least_ranks
    each = np.maximum(dp, 1) * micro
    if batch is None:
        accumulate = np.full(len(count), space.accumulate or 1)
    else:
        accumulate = np.full(len(count), space.accumulate) if space.accumulate else -(-batch // each)
        gathered = accumulate * each
        odd = (
            (micro == space.micro_batch[0])
            & (batch % np.maximum(dp, 1) != 0)
            & (gathered <= batch * OVERSHOOT)
        )
        odd = (odd & (space.accumulate is None)) | space.loose
        keeps &= (gathered == batch) | odd
        keeps &= (dp <= batch) | space.loose
    if training.schedule == "interleaved" and training.virtual_stages > 1:
        keeps &= (pp > 1) & (accumulate % pp == 0)
    columns = (tp, pp, dp, cp, ep, micro, accumulate)
    names = (field.name for field in fields(Cuts))
    return Cuts(**{name: column[keeps] for name, column in zip(names, columns, strict=True)})


def fewer(space: Space, *, cards: int, batch: int | None) -> Iterator[int]:
    """Numbers of cards below all that layouts could use, where all of them cannot work together."""
    for tp, pp, cp in product(space.tp, space.pp, space.cp):
        replicas = min(cards // (tp * pp * cp), batch or cards, space.dp or cards)
        for count in {replicas, 1 << max(replicas.bit_length() - 1, 0)}:
            if replicas:
                yield tp * pp * cp * count
