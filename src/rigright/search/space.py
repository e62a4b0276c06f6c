"""The space of layouts as arrays: every way to cut a model over chips, and pools of workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.choice.layout import MOST_TP, expert_cuts, replica_cuts, replica_layouts
from rigright.demand import Layout, Numbers, PlanWish, ServingWish, Traffic, grown_users
from rigright.facts.engines import Engine
from rigright.predict.columns import at
from rigright.predict.deployment import Deployment
from rigright.predict.room import Room
from rigright.predict.served import answers_per_s, prompts_per_s
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


HELD = np.array([8.0, 16, 32, 64, 128, 256, 512])  # sequences that a worker makes tokens for
USUAL = 2  # of them, the place of what is taken where requests arrive at a rate
FEW = 2  # requests in flight, below which nobody parts what they need


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """What a worker may be: arrays, one entry a kind and a shape."""

    row: Numbers
    column: Numbers
    chips: Numbers
    prompts_per_s: Numbers  # of one that takes prompts alone
    answers_per_s: Numbers  # [worker, sequences held]: of one that makes tokens alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """How many workers of which shape, one entry a layout."""

    prompts: Numbers  # places among the workers
    tokens: Numbers
    n_prompts: Numbers
    n_tokens: Numbers
    held: Numbers  # place among the loads


def is_enough(wish: PlanWish) -> bool:
    """Whether there is enough work to be parted."""
    return wish.users is None or grown_users(wish.users, wish.growth) >= FEW


def parts_work(engine: Engine, kind: Kind) -> bool:
    """Whether an engine parts the two kinds of work on such chips."""
    return kind.chip.segment == "datacenter" and kind.chip.vendor in engine.apart and not kind.mix


def workers_of(
    deployment: Deployment, *, shapes: Shapes, able: Numbers, traffic: Traffic, else_tok: float
) -> Workers:
    """Workers of one stage, as wide as a power of two: what each does a second."""
    wide = np.log2(shapes.tp) % 1 == 0
    row, column = np.nonzero(able & (wide & (shapes.pp == 1))[None, :])
    chips = shapes.tp[column]

    def layout(tp: Numbers) -> Layout:
        spread = shapes.ep[column].reshape(tp.shape)
        return Layout(tp=tp, ep=spread, attention_dp=shapes.attention_dp)

    work, rates = deployment.work, deployment.rates(prompt_tok=traffic.prompt_tok)
    budget_tok = deployment.budget_tok(row, else_tok=else_tok)
    asked: Any = {"traffic": traffic, "layout": layout(chips)}
    prompts = prompts_per_s(work, at(rates, row), budget_tok=budget_tok, **asked)
    asked["layout"] = layout(chips[:, None])
    answers = answers_per_s(work, at(rates, (row, None)), seqs=HELD, **asked)
    return Workers(row=row, column=column, chips=chips, prompts_per_s=prompts, answers_per_s=answers)


def pools_of(workers: Workers, wish: PlanWish, *, kinds: Sequence[Kind]) -> Pools:
    """Every two shapes on every number of chips, with the numbers of workers on both sides of the match."""
    prompts, tokens, n_chips = _sizes(workers, wish, kinds=kinds)
    wide, own = workers.chips[prompts], workers.chips[tokens]
    # [layout, load]: places among the loads: all of them, or about what is asked for
    if wish.rate_per_s is not None:
        values = np.full((len(n_chips), 1), USUAL)
    elif wish.users is None:
        values = np.broadcast_to(np.arange(len(HELD)), (len(n_chips), len(HELD)))
    else:
        each = grown_users(wish.users, wish.growth) * own / n_chips
        values = np.minimum(np.searchsorted(HELD, each), len(HELD) - 1)[:, None]
    asking = workers.prompts_per_s[prompts][:, None]
    answering = workers.answers_per_s[tokens[:, None], values]
    match = n_chips[:, None] * answering / (asking * own[:, None] + answering * wide[:, None])
    step = np.maximum(own // wide, 1)[:, None]  # that leaves whole workers for the tokens
    start = (n_chips // wide)[:, None] % step
    most = (n_chips - own)[:, None] / wide[:, None]
    lower = start + np.floor((np.minimum(match, most) - start) / step).astype(int) * step
    counts = np.stack([lower, lower + step])
    left, rest = np.divmod(n_chips[:, None] - counts * wide[:, None], own[:, None])
    _, place, load = which = np.nonzero((counts >= 1) & (left >= 1) & (rest == 0))
    return Pools(
        prompts=prompts[place], tokens=tokens[place], n_prompts=counts[which], n_tokens=left[which],
        held=values[place, load],
    )  # fmt: skip


def _sizes(workers: Workers, wish: PlanWish, *, kinds: Sequence[Kind]) -> tuple[Numbers, Numbers, Numbers]:
    """Two shapes of one kind, and so many chips: any number on a named machine, else a usual one."""
    first, second = np.nonzero(workers.row[:, None] == workers.row[None, :])
    counts = np.array(sorted({count for kind in kinds for count in kind.counts}))
    taken = np.array([np.isin(counts, kind.counts) for kind in kinds])
    row, least = workers.row[first], workers.chips[first] + workers.chips[second]
    allowed = taken[row] & (counts[None, :] >= least[:, None])
    usual = np.broadcast_to(np.log2(counts) % 1 == 0, allowed.shape)
    if wish.users is None and wish.rate_per_s is None:
        usual = np.maximum(least, NODE_CHIPS)[:, None] == counts[None, :]
    named = np.array([kind.named for kind in kinds])[row]
    pair, size = np.nonzero(allowed & (usual | named[:, None]))
    return first[pair], second[pair], counts[size]


def points_of(
    pools: Pools, workers: Workers, *, shapes: Shapes, room: Room, wish: PlanWish, seq_tok: float
) -> tuple[LayoutPoints, Numbers]:
    """The same as layouts with their load; and the column of the workers that make tokens."""
    # requests in flight: those asked for, or as many as keep both kinds of worker at it
    if wish.rate_per_s is not None:
        load = np.full(len(pools.held), np.nan)
    elif wish.users is not None:
        load = np.full(len(pools.held), grown_users(wish.users, wish.growth))
    else:
        ranks = workers.chips[pools.prompts] if shapes.attention_dp else 1
        load = pools.n_tokens * HELD[pools.held] + pools.n_prompts * ranks
    row, column = workers.row[pools.tokens], workers.column[pools.tokens]
    flag = wish.users is not None or wish.rate_per_s is not None
    kept = HELD[pools.held] * seq_tok <= room.pool_tok[row, column]
    if flag:
        kept = ~(np.maximum(pools.n_tokens, pools.n_prompts) > load)
    row, column = row[kept], column[kept]
    none = np.zeros(len(row), dtype=int)
    return (
        LayoutPoints(
            way=none, kind=none, row=row,
            tp=shapes.tp[column], pp=none + 1, ep=shapes.ep[column], dp=pools.n_tokens[kept],
            attention_dp=np.full(len(row), shapes.attention_dp), load=load[kept],
            prefill_tp=workers.chips[pools.prompts][kept], prefill_dp=pools.n_prompts[kept],
        ),
        column,
    )  # fmt: skip
