"""The space of layouts as arrays: every way to cut a model over chips, and every load it may carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.choice.layout import MOST_TP, expert_cuts, replica_cuts, replica_layouts
from rigright.demand import Layout, Numbers, ServingWish, grown_users
from rigright.facts.engines import Engine
from rigright.search.question import NODE_CHIPS, Kind, Question

LOADS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # requests a replica has in flight: rungs to search between
MOST_LOAD = 1024  # more than any published run had


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Ways to cut one replica: arrays of one length, attention alike in all."""

    tp: Numbers
    pp: Numbers
    ep: Numbers
    attention_dp: bool

    @property
    def chips(self) -> Numbers:
        """Chips of one replica."""
        return self.tp * self.pp

    def layout(self, *, dp: Numbers = 1) -> Layout:
        """The same as a layout of so many replicas."""
        return Layout(tp=self.tp, pp=self.pp, ep=self.ep, dp=dp, attention_dp=self.attention_dp)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutPoints:
    """Layouts with their load, one entry each: what is scored."""

    way: Numbers  # place among the question's ways
    kind: Numbers  # place among its kinds
    tp: Numbers
    pp: Numbers
    dp: Numbers
    ep: Numbers
    attention_dp: Numbers
    load: Numbers  # requests in flight over all replicas; nan in an open loop
    row: Numbers  # place among the kinds that were scored together
    prefill_tp: Numbers  # of workers that take prompts alone; the others then make next tokens alone
    prefill_dp: Numbers  # how many; 0: replicas do both

    @property
    def n_chips(self) -> Numbers:
        """Chips of all workers."""
        return self.tp * self.pp * self.dp + self.prefill_tp * self.prefill_dp

    @property
    def replica(self) -> Numbers:
        """Chips that stand together, or are joined by a fast network: a replica, or all that hand over."""
        return np.where(self.prefill_dp > 0, self.n_chips, self.tp * self.pp)

    def __len__(self) -> int:
        return len(self.tp)

    def take(self, index: Numbers) -> LayoutPoints:
        """Some of them."""
        return LayoutPoints(
            **{field.name: getattr(self, field.name)[index] for field in fields(LayoutPoints)}
        )


def shapes_of(
    arch: Arch, engine: Engine, *, kinds: Sequence[Kind], wish: ServingWish | None = None
) -> tuple[Shapes, ...]:
    """The ways to cut one replica that heads and layers allow, experts too where there are any.

    `given`: the way that somebody stated, where no search would try it.
    """
    counts = {count for kind in kinds for count in kind.counts}
    if wish is not None:
        return _listed_shapes(replica_layouts(arch, engine, wish=wish, counts=counts))
    pairs = replica_cuts(arch, engine, counts=counts)
    tp, pp = (np.array(column) for column in zip(*pairs, strict=True))
    wide = tp > 1
    shapes = []
    for cut, spread in expert_cuts(arch, engine):
        mine = wide if cut else np.ones(len(tp), dtype=bool)
        if mine.any():
            ep = tp[mine] if cut else np.ones_like(tp)
            shapes.append(Shapes(tp=tp[mine], pp=pp[mine], ep=ep, attention_dp=spread))
    return tuple(shapes)


def _listed_shapes(cuts: Sequence[tuple[int, int, int, bool]]) -> tuple[Shapes, ...]:
    """The same of ways that are listed, by how their attention is cut."""
    shapes = []
    for spread in (False, True):
        mine = np.array([cut[:3] for cut in cuts if cut[3] is spread], dtype=int).reshape(-1, 3)
        if len(mine):
            tp, pp, ep = mine.T
            shapes.append(Shapes(tp=tp, pp=pp, ep=ep, attention_dp=spread))
    return tuple(shapes)


def stands(shapes: Shapes, kinds: Sequence[Kind], *, tensor: bool, named: bool = False) -> Numbers:
    """[kind, shape]: tensors are cut inside a box; a pipeline may go over boxes, whole ones.

    Boxes of one card each, such as two DGX Spark on a cable, are cut as one; of a `named` layout, any are.
    """
    alone = np.array([kind.chip.is_instance for kind in kinds])[:, None] & (shapes.chips > 1)
    if kinds[0].mix:
        return ((shapes.pp == len(kinds[0].mix)) & (shapes.tp == 1))[None, :] & ~alone
    box = np.array([kind.per_node for kind in kinds])[:, None]
    inside = shapes.chips <= box
    if named:
        return (inside | (shapes.chips % np.minimum(box, shapes.chips) == 0)) & ~alone
    joined = np.array([kind.chip.segment == "datacenter" or kind.whole > 0 for kind in kinds])[:, None]
    over = joined & (box >= MOST_TP / 2) & (shapes.chips % np.minimum(box, shapes.chips) == 0) & tensor
    ones = (box == 1) & np.array([kind.whole > 1 for kind in kinds])[:, None] & tensor
    return (((shapes.tp <= box) & (inside | over)) | ones) & ~alone


def grown(shapes: Shapes, kinds: Sequence[Kind], *, fits: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Kind, shape and replicas of every allowed number of chips, for what fits."""
    rows, columns, copies = [], [], []
    chips = np.broadcast_to(shapes.chips, fits.shape[1:])
    for counts in dict.fromkeys(kind.counts for kind in kinds):
        mine = np.array([kind.counts == counts for kind in kinds])
        allowed = np.array(counts)[None, :]
        dp, rest = np.divmod(allowed, chips[:, None])
        kind, shape = np.nonzero(fits & mine[:, None])
        pair, which = np.nonzero(
            (rest == 0)[shape]
            & (dp >= 1)[shape]
            & _in_boxes(kinds, kind, chips=chips[shape], allowed=allowed)
        )
        rows.append(kind[pair])
        columns.append(shape[pair])
        copies.append(dp[shape[pair], which])
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(copies)


def _in_boxes(kinds: Sequence[Kind], kind: Numbers, *, chips: Numbers, allowed: Numbers) -> Numbers:
    """[pair, count]: whether all replicas stand whole in boxes of one size; larger ones take whole boxes."""
    box = np.array([item.per_node for item in kinds])[kind][:, None]
    whole = np.array([item.whole for item in kinds])[kind][:, None]
    boxed = np.array([item.is_boxed for item in kinds])[kind][:, None]
    own = chips[:, None]
    boxes = -(-np.maximum(whole, allowed) // box)
    return ~boxed | (own > box) | (allowed // own <= box // own * boxes)


def loaded(
    question: Question, shapes: Shapes, *, column: Numbers, dp: Numbers, most: Numbers, named: Numbers
) -> tuple[LayoutPoints, Numbers]:
    """Layouts under the loads asked for, or under every load that fits; and where each came from."""
    index, load = _loads(question, dp, most=most)
    chips = shapes.chips[column]
    if not question.is_loaded:
        few = named | (dp == 1) | (dp * chips == NODE_CHIPS)
        index, load = index[few[index]], load[few[index]]
    column, dp = column[index], dp[index]
    spread = np.full(len(index), shapes.attention_dp)
    none = np.zeros(len(index), dtype=int)
    points = LayoutPoints(
        way=none, kind=none, row=none, tp=shapes.tp[column], pp=shapes.pp[column], ep=shapes.ep[column],
        dp=dp, attention_dp=spread, load=load, prefill_tp=none + 1, prefill_dp=none,
    )  # fmt: skip
    return points, index


def _written(question: Question) -> float:
    """The tokens of a whole request for each that one on its way holds."""
    prompt, output = question.wish.prompt_tok or 0, question.wish.output_tok or 0
    return (prompt + output) / max(prompt + output / 2, 1)


def _loads(question: Question, dp: Numbers, *, most: Numbers) -> tuple[Numbers, Numbers]:
    """Each layout with each of its loads; a replica for every request in flight is enough."""
    if question.wish.rate_per_s is not None:
        return np.arange(len(dp)), np.full(len(dp), np.nan)
    if question.users:
        loads = np.array([grown_users(users, question.wish.growth) for users in question.users])
        which, index = np.nonzero(dp <= np.maximum(loads, 1)[:, None])
        return index, loads[which]
    # as many whole requests as there is room for, and as many as are on their way: half written on average
    whole, half = (
        np.clip(np.floor(most * more), 1, MOST_LOAD)[:, None] for more in (1.0, _written(question))
    )
    rungs = np.broadcast_to(np.array(LOADS, dtype=float), (len(whole), len(LOADS)))
    ladder = np.concatenate([rungs, whole, half], axis=1)
    below = np.concatenate([rungs < whole, np.ones_like(whole, dtype=bool), half > whole], axis=1)
    index, step = np.nonzero(below)
    return index, ladder[index, step] * dp[index]
