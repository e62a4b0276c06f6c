"""What unusual is worth its trouble: workers apart, and engines that are not the usual one.

It stays where nothing usual keeps the limits, or is much slower: our bands tell no smaller gain from none.
"""

from __future__ import annotations

import numpy as np

from rigright.cost.bands import band, figure_of
from rigright.cost.known import Known
from rigright.demand import Numbers
from rigright.facts.formats import find_format
from rigright.search.figures import at_percentile, limits_of, usual_limits
from rigright.search.question import Question
from rigright.search.score import SUBJECT, Scored

GAIN = 1.1  # in tokens a second over replicas that do all, on as many of the same chips, of no better weights


def worthwhile(question: Question, scored: Scored) -> Scored:
    """All usual layouts; of the others those that keep the limits and gain enough."""
    points, rate = scored.points, scored.served["output_tok_per_s"]
    apart = points.prefill_dp > 0
    usual = np.array([way.usual for way in question.ways])[points.way]
    odd = apart | ~usual
    if not odd.any():
        return scored
    keeps = _keeps(question, scored, apart=apart)
    loss = np.array([find_format(way.weights).loss_rank for way in question.ways])[points.way]
    alike = points.kind * (int(points.n_chips.max()) + 1) + points.n_chips
    at_home = question.wish.work == "chat"  # nobody there changes the engine for wider weights alone
    gains = np.zeros(len(points), dtype=bool)
    for rank in sorted(set(loss[odd].tolist())):
        best = np.zeros(int(alike.max()) + 1)
        plain = keeps & ~odd & ((loss <= rank) | at_home)
        np.maximum.at(best, alike[plain], rate[plain])
        gains |= (loss == rank) & (rate >= GAIN * best[alike])
    return scored.take(np.flatnonzero(~odd | (keeps & gains)))


def _keeps(question: Question, scored: Scored, *, apart: Numbers) -> Numbers:
    """Whether each layout keeps the limits that are no matter of money.

    Of workers apart few runs are known, and most were slower than told: the middle of their band has to.
    """
    wish = question.wish
    figures = {
        name: at_percentile(scored.served, name, percentile=wish.percentile)
        * np.where(apart, _middle(name), 1.0)
        for name in ("ttft_s", "tpot_s")
    }
    figures["busy"] = scored.served["busy"]
    limits = (*limits_of(question, figures), *usual_limits(wish, figures))
    return np.all([np.ones(len(apart), dtype=bool), *(limit.excess <= 0 for limit in limits)], axis=0)


def _middle(name: str) -> float:
    low, high = band(SUBJECT, figure_of(name, split=True), known=Known())
    return max(float(np.sqrt(low * high)), 1.0)
