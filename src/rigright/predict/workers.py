"""Workers that take prompts alone, and those that make next tokens alone: what each does a second."""

from __future__ import annotations

import numpy as np

from rigright.cost.speed.apart import prompt_alone_s, token_pass
from rigright.cost.speed.rates import Rates
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers, Traffic


def prompts_per_s(
    work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, budget_tok: Numbers
) -> Numbers:
    """Prompts of a worker that does nothing else, one after another on each of its ranks."""
    each = prompt_alone_s(work, rates, layout=layout, traffic=traffic, budget_tok=budget_tok)
    return (layout.tp if layout.attention_dp else 1) / each


def answers_per_s(
    work: PassWork, rates: Rates, *, layout: Layout, traffic: Traffic, seqs: Numbers
) -> Numbers:
    """Answers of a worker that does nothing else, with so many sequences at work."""
    token_s = token_pass(work, rates, layout=layout, traffic=traffic, seqs=seqs).total_s
    return seqs / (np.maximum(traffic.output_tok - 1, 1) * token_s / (1 + traffic.accepted_tok))
