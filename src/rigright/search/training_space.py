"""The space of trainings as arrays and its scores: memory of the fullest stage, then time of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from math import gcd
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.choice.training import Able, Space, able_of, spaces_of
from rigright.choice.training_runs import box_of
from rigright.cost.training.learners import trunk_of
from rigright.cost.training.time import LINKS
from rigright.demand import Layout, Numbers, PlanWish, Training, TrainingWish
from rigright.facts.chips import Chip
from rigright.facts.engines import how_runs
from rigright.predict.columns import at, each_chunk, joined
from rigright.predict.trained import TrainingRates, step_rates, steps
from rigright.predict.trained_memory import least_bytes
from rigright.search.question import Kind, Question
from rigright.search.score import Misfits

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


TIMED = ("step_s", "tok_per_s_per_chip", "samples_per_s", "mfu", "hfu", "bubble_s", "rollout_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPoints:
    """What is scored: arrays, one entry a training."""

    way: Numbers
    kind: Numbers
    row: Numbers
    tp: Numbers
    pp: Numbers
    dp: Numbers
    cp: Numbers
    ep: Numbers
    micro_batch: Numbers
    accumulate: Numbers
    rank_bytes: Numbers  # of the fullest rank, once the allocator gave back all it can

    @property
    def n_chips(self) -> Numbers:
        """Chips of all ranks."""
        return self.tp * self.pp * self.dp * self.cp

    def __len__(self) -> int:
        return len(self.tp)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScored:
    """What fits, with what it gives; and what does not fit."""

    points: TrainingPoints
    timed: dict[str, Numbers]
    misfits: Misfits

    def take(self, index: Numbers) -> TrainingScored:
        """Some of what fits."""
        timed = {name: column[index] for name, column in self.timed.items()}
        return TrainingScored(points=at(self.points, index), timed=timed, misfits=self.misfits)


def score_trainings(question: Question, *, batch: int | None, start: int = 0) -> TrainingScored:
    """Score the whole space of a question, or its ways from a place on."""
    ways = list(enumerate(question.ways))[start:]
    return together([_score_way(question, way, place=place, batch=batch) for place, way in ways])


def together(parts: Sequence[TrainingScored]) -> TrainingScored:
    """Scores one after another as one."""
    return TrainingScored(
        points=joined([part.points for part in parts]),
        timed={name: np.concatenate([part.timed[name] for part in parts]) for name in (*TIMED, "links_s")},
        misfits=joined([part.misfits for part in parts]),
    )


def _score_way(question: Question, way: TrainingWay, *, place: int, batch: int | None) -> TrainingScored:
    kinds = [question.kinds[kind] for kind in way.kinds]
    counts = sorted({count for kind in kinds for count in kind.counts})
    cuts = cuts_of(question.arch, way.space, counts=counts, batch=batch)
    able = np.array([kind.card.room_bytes for kind in kinds])
    rank = rank_bytes(question.arch, way.space, cuts=cuts, most=float(able.max()))
    # [kind, layout]: the number of chips is one of the kind's, tensors are cut inside a box
    allowed = np.stack([np.isin(cuts.n_chips, kind.counts) for kind in kinds])
    box = np.array([kind.per_node for kind in kinds])[:, None]
    may = allowed & (cuts.tp[None, :] <= box)
    fits = may & (rank[None, :] <= able[:, None])
    row, column = np.nonzero(fits)
    points = TrainingPoints(
        way=np.full(len(row), place),
        kind=np.asarray(way.kinds)[row],
        row=row,
        rank_bytes=rank[column],
        **{field.name: getattr(cuts, field.name)[column] for field in fields(Cuts)},
    )
    return TrainingScored(
        points=points,
        timed=_timed(question.arch, way.space, points=points, kinds=kinds),
        misfits=_misfits(way, may & ~fits, place=place, cuts=cuts, rank=rank, able=able),
    )


def rank_bytes(arch: Arch, space: Space, *, cuts: Cuts, most: float = np.inf) -> Numbers:
    """Bytes of the fullest rank of all stages; of the first, where that one has more than `most`."""
    training = replace(space.training, micro_batch=cuts.micro_batch, accumulate=cuts.accumulate)
    return least_bytes(arch, training, layout=layout_of(cuts, space), most=most)


def layout_of(cuts: Any, space: Space) -> Layout:
    """Cuts or points as a layout of arrays; where tensors may be cut, sequences are cut with them."""
    return Layout(
        tp=cuts.tp, pp=cuts.pp, dp=cuts.dp, cp=cuts.cp, ep=cuts.ep,
        sequence_parallel=space.sequence_parallel,
    )  # fmt: skip


def _misfits(
    way: TrainingWay, small: Numbers, *, place: int, cuts: Cuts, rank: Numbers, able: Numbers
) -> Misfits:
    row, column = np.nonzero(small & (cuts.micro_batch == way.space.micro_batch[0])[None, :])
    return Misfits(
        way=np.full(len(row), place),
        kind=np.asarray(way.kinds)[row],
        chips=cuts.n_chips[column],
        need_bytes=rank[column],
        able_bytes=able[row],
    )


def _timed(arch: Arch, space: Space, *, points: TrainingPoints, kinds: Sequence[Kind]) -> dict[str, Numbers]:
    # chips as they stand in one box, then in several
    wired = [
        (kind.chip, box_of(kind.chip, cards=kind.per_node, ranks=kind.per_node * boxes))
        for boxes in (1, 2)
        for kind in kinds
    ]
    rates: TrainingRates = step_rates(arch, space.training, wired=wired)
    boxes = np.array([kind.per_node for kind in kinds])[points.row] < points.n_chips
    row = points.row + len(kinds) * boxes
    size = len(points)
    timed = {name: np.empty(size) for name in (*TIMED, "links_s")}

    def task(chunk: slice) -> None:
        part = at(points, chunk)
        training = replace(space.training, micro_batch=part.micro_batch, accumulate=part.accumulate)
        training_time = steps(arch, training, layout=layout_of(part, space), rates=at(rates, row[chunk]))
        for name in TIMED:
            timed[name][chunk] = getattr(training_time, name)
        timed["links_s"][chunk] = sum(getattr(training_time, f"{name}_s") for name in LINKS)

    each_chunk(size, task)
    return timed
