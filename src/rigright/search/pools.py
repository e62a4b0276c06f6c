"""Layouts whose prompts and next tokens have workers of their own: so many of each that their rates match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rigright.base.record import dataclass
from rigright.demand import Layout, Numbers, PlanWish, Traffic, grown_users
from rigright.facts.engines import Engine
from rigright.predict.columns import at
from rigright.predict.deployment import Deployment
from rigright.predict.room import Room
from rigright.predict.served import answers_per_s, prompts_per_s
from rigright.search.question import NODE_CHIPS, Kind
from rigright.search.space import LayoutPoints, Shapes

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
