"""The space of trainings as arrays: method, sharding, recompute are ways; in each, layouts and batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd

import numpy as np

from rigright.arch.count import params
from rigright.arch.record import Arch
from rigright.base.units import GIGA
from rigright.cost.training_towers import trunk_of
from rigright.demand import Numbers, PlanWish, Training
from rigright.facts.chips import Chip
from rigright.facts.running import how_runs
from rigright.facts.training import find_trainer
from rigright.search.question import Kind

TUNED_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 64)
PRETRAINED_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
WIDTHS, STAGES, EXPERT_RANKS = (1, 2, 4, 8), (1, 2, 4, 8, 16), (1, 4, 8, 16, 32, 64)
LONG_TOK = 16384  # sequences from here on may be cut over ranks
METHODS = ("full", "lora", "qlora")
OVERSHOOT = 1.25  # a step may gather so much more than was asked, where ranks do not divide it
CUTTERS = ("megatron", "torchtitan")  # trainers that cut tensors and stages
LARGE_PARAMS = 20 * GIGA  # of a model that is tuned in full, from which on its tensors may be cut
LINKED = 4  # chips of a link domain that pre-training wants at least


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWay:
    """How to train: everything but layout, micro-batch and accumulation; on which kinds (by their place)."""

    training: Training
    cuts: bool  # tensors and stages may be cut
    kinds: tuple[int, ...]

    @property
    def label(self) -> str:
        """The way in a few words, as the flags write it."""
        told = self.training
        words = [told.trainer, told.method, told.optimizer, told.sharding, told.recompute, told.offload]
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


def ways_of(arch: Arch, wish: PlanWish, *, kinds: Sequence[Kind]) -> tuple[TrainingWay, ...]:
    """Every way that the wish allows."""
    trainings = tuple(_pretraining(wish) if wish.work == "pretrain" else _tuning(arch, wish))
    able = {
        (form, cuts): tuple(
            place for place, kind in enumerate(kinds) if trains(kind, wish, form=form, linked=cuts)
        )
        for form, cuts in {(_form(training), _cuts(training)) for training in trainings}
    }
    found = [
        TrainingWay(training=one, cuts=_cuts(one), kinds=able[_form(one), _cuts(one)]) for one in trainings
    ]
    return tuple(way for way in found if way.kinds)


def _cuts(training: Training) -> bool:
    return training.trainer.startswith(CUTTERS)


def _form(training: Training) -> str:
    """What has to run there: 4-bit bases and 8-bit states come out of one library."""
    in_8_bit = training.optimizer is not None and training.optimizer.startswith("adamw-8bit")
    return "nf4" if training.method == "qlora" or in_8_bit else "16bit"


def trains(kind: Kind, wish: PlanWish, *, form: str, linked: bool) -> bool:
    """Whether training runs there; what few train on, or lacks a fast link, is not taken unasked."""
    chip: Chip = kind.chip
    forms = ("nf4",) if form == "nf4" else ("bf16", "fp16")
    if not any(how_runs("transformers", form, chip=chip) for form in forms):
        return False
    links = chip.segment == "datacenter" and (chip.link_max_chips or 0) >= LINKED
    usual = chip.vendor in {"NVIDIA", "AMD"} and chip.segment in {"consumer", "workstation", "datacenter"}
    wants = wish.work == "pretrain" or linked
    return kind.named or (links if wants else usual)


def _pretraining(wish: PlanWish) -> Iterator[Training]:
    trainers = (wish.trainer,) if wish.trainer else ("megatron", "torchtitan")
    for name, recompute in product(trainers, ("none", "selective", "full")):
        trainer = find_trainer(name).id
        sharding = "zero1" if trainer.startswith("megatron") else "fsdp"
        for schedule, chunks in (("1f1b", 1), ("interleaved", 2), ("interleaved", 4)):
            yield Training(
                trainer=trainer,
                sharding=sharding,
                recompute=recompute,
                schedule=schedule,
                virtual_stages=chunks,
                seq_tok=wish.seq_tok,
            )


def _tuning(arch: Arch, wish: PlanWish) -> Iterator[Training]:
    trainer = find_trainer(wish.trainer or "hf").id
    for method, recompute in product((wish.method,) if wish.method else METHODS, ("none", "full")):
        plain = Training(trainer=trainer, method=method, recompute=recompute, seq_tok=wish.seq_tok)
        yield plain
        yield replace(plain, sharding="fsdp")
        if method == "full":
            yield replace(plain, optimizer="adamw-8bit")
            yield replace(plain, trainer="deepspeed", sharding="zero3", offload="optimizer-cpu")
            if params(arch) >= LARGE_PARAMS and wish.trainer is None:
                yield replace(plain, trainer="torchtitan", sharding="fsdp")


def cuts_of(arch: Arch, way: TrainingWay, *, counts: Sequence[int], batch: int) -> Cuts:
    """Every layout of every number of chips, with every micro-batch that gathers the batch."""
    rows = [
        (*layout, micro, accumulate)
        for count in counts
        for layout in _layouts(arch, way, count=count)
        for micro, accumulate in _gathers(batch, replicas=layout[2])
        if way.training.schedule != "interleaved" or layout[1] > 1
    ]
    columns = np.array(rows, dtype=int).reshape(len(rows), 7).T
    names = ("tp", "pp", "dp", "cp", "ep", "micro_batch", "accumulate")
    return Cuts(**dict(zip(names, columns, strict=True)))


def _layouts(arch: Arch, way: TrainingWay, *, count: int) -> Iterator[tuple[int, int, int, int, int]]:
    """tp, pp, dp, cp, ep of so many ranks."""
    if not way.cuts:
        if (count > 1) == (way.training.sharding != "none") or way.training.sharding in {"none", "zero3"}:
            yield 1, 1, count, 1, 1
        return
    layers = trunk_of(arch).layers
    heads = gcd(*(layer.mixer.heads for layer in layers if layer.mixer is not None))
    experts = max((layer.ffn.experts for layer in layers if layer.ffn is not None), default=0)
    slices = (1, 2, 4, 8) if int(way.training.seq_tok) >= LONG_TOK else (1,)
    chunks = int(way.training.virtual_stages)
    for tp, pp, cp in product(WIDTHS, STAGES, slices):
        dp, rest = divmod(count, tp * pp * cp)
        if rest or not dp or heads % tp or pp * chunks > len(layers):
            continue
        for ep in EXPERT_RANKS if experts else (1,):
            if ep <= tp * dp * cp and (not experts or experts % ep == 0):
                yield tp, pp, dp, cp, ep


def _gathers(batch: int, *, replicas: int) -> Iterator[tuple[int, int]]:
    """Micro-batch and how many of them a step gathers."""
    for micro in MICRO_BATCHES:
        accumulate = max(-(-batch // (replicas * micro)), 1)
        if micro * accumulate * replicas <= max(batch * OVERSHOOT, replicas):
            yield micro, accumulate
