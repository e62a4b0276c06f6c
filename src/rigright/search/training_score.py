"""Scores of trainings: memory of the fullest stage, then time of a step, in arrays that stay in cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.choice.training import Space
from rigright.choice.training_runs import box_of
from rigright.cost.training.time import LINKS
from rigright.demand import Layout, Numbers
from rigright.predict.columns import at, each_chunk, joined
from rigright.predict.trained import TrainingRates, step_rates, steps
from rigright.predict.trained_memory import least_bytes
from rigright.search.question import Kind, Question
from rigright.search.score import Misfits
from rigright.search.training_space import Cuts, TrainingWay, cuts_of

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
