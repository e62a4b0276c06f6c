"""The pace of a replica, from the law of a pass."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from rigright.cost.speed.rates import Rates
from rigright.cost.speed.step import Pass, step
from rigright.cost.speed.work import Work
from rigright.demand import Layout, Numbers
from rigright.sim.pace import Law, Pace


def law_of(work: Work, rates: Rates, *, layout: Layout, shares: Numbers = None) -> Law:
    """The law of a pass on arrays; rates of unlike chips wait for the slowest, or each does its share."""

    def law(content: Pass) -> np.ndarray:
        beside = replace(
            content, **{field.name: _upright(getattr(content, field.name)) for field in fields(Pass)}
        )
        times = np.asarray(step(work, rates, layout=layout, content=beside).total_s, dtype=float)
        each = np.broadcast_to(times, (len(content.prefill_tok), times.shape[-1] if times.ndim > 1 else 1))
        return np.asarray(each.max(axis=1) if shares is None else each @ np.asarray(shares))

    return law


def _upright(values: Numbers) -> Numbers:
    """One row a pass, so that columns are kinds of chip."""
    return np.asarray(values, dtype=float)[..., None]


def pace_of(
    law: Law, *, layout: Layout, max_seqs: int, budget_tok: int, context_tok: int, overlap: float = 1.0
) -> Pace:
    """Tables over all that passes of such a replica can hold."""
    rounds = int(layout.pp)
    return Pace(
        law,
        most_seqs=max(-(-max_seqs // rounds), 1),
        most_tok=max(budget_tok, 1),
        most_context=max(context_tok, 2),
        rounds=rounds,
        overlap=overlap,
    )
