"""Scores of trainings: memory of the fullest stage, then time of a step, in arrays that stay in cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.cost.training_memory import training_memory
from rigright.cost.training_setup import set_up
from rigright.cost.training_time import TrainingRates, training_rates, training_time
from rigright.cost.training_towers import trunk_of
from rigright.demand import Layout, Numbers
from rigright.search.chunks import each_chunk
from rigright.search.columns import at, joined
from rigright.search.question import Kind, Question
from rigright.search.score import Misfits
from rigright.search.training_space import Cuts, TrainingWay, cuts_of

TIMED = ("step_s", "tok_per_s_per_chip", "samples_per_s", "mfu", "hfu", "bubble_s")
LINKS = ("tp_s", "dp_s", "pp_s", "ep_s", "cp_s")


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


def score_trainings(question: Question, *, batch: int) -> TrainingScored:
    """Score the whole space of a question."""
    parts = [_score_way(question, way, place=place, batch=batch) for place, way in enumerate(question.ways)]
    return TrainingScored(
        points=joined([part.points for part in parts]),
        timed={name: np.concatenate([part.timed[name] for part in parts]) for name in (*TIMED, "links_s")},
        misfits=joined([part.misfits for part in parts]),
    )


def _score_way(question: Question, way: TrainingWay, *, place: int, batch: int) -> TrainingScored:
    kinds = [question.kinds[kind] for kind in way.kinds]
    counts = sorted({count for kind in kinds for count in kind.counts})
    cuts = cuts_of(question.arch, way, counts=counts, batch=batch)
    rank = rank_bytes(question.arch, way, cuts=cuts)
    may = _stands(cuts, kinds)
    able = np.array([kind.card.room_bytes for kind in kinds])
    fits = may & (rank[None, :] <= able[:, None])
    row, column = np.nonzero(fits)
    points = TrainingPoints(
        way=np.full(len(row), place),
        kind=np.asarray(way.kinds)[row],
        row=row,
        rank_bytes=rank[column],
        **{one.name: getattr(cuts, one.name)[column] for one in fields(Cuts)},
    )
    return TrainingScored(
        points=points,
        timed=_timed(question.arch, way, points=points, kinds=kinds),
        misfits=_misfits(way, may & ~fits, place=place, cuts=cuts, rank=rank, able=able),
    )


def rank_bytes(arch: Arch, way: TrainingWay, *, cuts: Cuts) -> Numbers:
    """Bytes of the fullest rank: the first stage, or the last."""
    layout = layout_of(cuts, way)
    told = replace(way.training, micro_batch=cuts.micro_batch, accumulate=cuts.accumulate)
    ends = (0, cuts.pp - 1) if np.any(cuts.pp > 1) else (0,)
    sizes = [training_memory(arch, told, layout=layout, stage=stage).least_bytes for stage in ends]
    return np.broadcast_to(np.maximum.reduce(np.broadcast_arrays(*sizes)), np.shape(cuts.tp))


def layout_of(cuts: Any, way: TrainingWay) -> Layout:
    """Cuts or points as a layout of arrays; where tensors may be cut, sequences are cut with them."""
    return Layout(tp=cuts.tp, pp=cuts.pp, dp=cuts.dp, cp=cuts.cp, ep=cuts.ep, sequence_parallel=way.cuts)


def _stands(cuts: Cuts, kinds: Sequence[Kind]) -> Numbers:
    """[kind, layout]: the number of chips is one of the kind's, tensors are cut inside a box."""
    allowed = np.stack([np.isin(cuts.n_chips, kind.counts) for kind in kinds])
    box = np.array([kind.per_node for kind in kinds])[:, None]
    return allowed & (cuts.tp[None, :] <= box)


def _misfits(
    way: TrainingWay, small: Numbers, *, place: int, cuts: Cuts, rank: Numbers, able: Numbers
) -> Misfits:
    row, column = np.nonzero(small & (cuts.micro_batch == 1)[None, :])
    return Misfits(
        way=np.full(len(row), place),
        kind=np.asarray(way.kinds)[row],
        chips=cuts.n_chips[column],
        need_bytes=rank[column],
        able_bytes=able[row],
    )


def _timed(
    arch: Arch, way: TrainingWay, *, points: TrainingPoints, kinds: Sequence[Kind]
) -> dict[str, Numbers]:
    setup = set_up(way.training, hidden=trunk_of(arch).hidden)
    rates: TrainingRates = training_rates([kind.chip for kind in kinds], setup)
    size = len(points)
    timed = {name: np.empty(size) for name in (*TIMED, "links_s")}

    def task(chunk: slice) -> None:
        part = at(points, chunk)
        told = replace(way.training, micro_batch=part.micro_batch, accumulate=part.accumulate)
        found = training_time(arch, told, layout=layout_of(part, way), rates=at(rates, part.row))
        for name in TIMED:
            timed[name][chunk] = getattr(found, name)
        timed["links_s"][chunk] = sum(getattr(found, name) for name in LINKS)

    each_chunk(size, task)
    return timed
