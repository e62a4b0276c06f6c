"""What a plan predicts is what requests see that are played one by one, the burst of the start apart."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
import pytest
from questions import THOROUGH, Asked, market, played, seeds

from rigright.base.errors import AskError
from rigright.demand import Traffic
from rigright.search.find import find
from rigright.search.record import Plan
from rigright.search.single import single
from rigright.sim.arrivals import Arrivals, made_load
from rigright.sim.tally import moments_of
from rigright.verbs.simulate.play import play_case
from rigright.verbs.simulate.wish import CLOSED, PlayWish

pytestmark = pytest.mark.hypothesis
COUNT = 50 if THOROUGH else 12
SPREAD = 0.5  # of the answers' lengths: where all are alike, those who start together stay together
LEAST = 60  # requests that are counted
OUTSIDE = {"ttft_s": 0.08, "tpot_s": 0.05}  # of the figures lie outside their bands, at most


def seen(asked: Asked, plan: Plan) -> dict[str, float]:
    """TTFT that half of the requests keep, and the mean TPOT, without those of the start and of the end."""
    wish, figures = asked.wish, plan.figures
    life_s = figures["ttft_s"].value + figures["tpot_s"].value * wish.output_tok
    flying = wish.users or max(figures["requests_per_s"].value * life_s, 1.0)
    warm = int(2 * flying + 10)
    case = single(asked.arch, asked.node, wish=asked.serving, work=wish).case
    assert (case.serving.weights, case.serving.kv, case.serving.batch, case.layout) == (
        plan.work.weights, plan.work.kv, plan.work.batch, plan.layout,
    )  # fmt: skip
    users = None if wish.users is None else int(wish.users)
    load = made_load(
        Traffic(
            prompt_tok=wish.prompt_tok, output_tok=wish.output_tok, concurrency=users,
            rate_per_s=wish.rate_per_s, output_spread=SPREAD,
        ),
        count=warm + int(max(LEAST, 2 * flying)),
        process=Arrivals(kind="poisson" if users is None else CLOSED),
        seed=1,
    )  # fmt: skip
    _, done = play_case(case, load, wish=PlayWish(requests=load.count))
    moments = moments_of(done)
    kept = np.argsort(moments.arrival_s)[warm : None if users is None else -users // 2]
    more = np.maximum(load.output_tok[kept] - 1, 1)
    made_s = (moments.last_s - moments.first_s)[kept]
    return {"ttft_s": float(np.median(moments.ttft_s[kept])), "tpot_s": float(made_s.sum() / more.sum())}


def answered(count: int, *, seed: int) -> Iterator[tuple[Asked, Plan]]:
    """Questions whose plan carries the load."""
    for asked in played(4 * count, seed=seed):
        longest = asked.wish.prompt_tok + 2 * asked.wish.output_tok
        if longest > (asked.arch.max_context_tok or longest):
            continue
        try:
            found = find(asked.arch, asked.wish, market=market())
        except AskError:
            continue
        plan = found.plans[0] if found.plans else found.nearest
        if plan is not None and plan.prefill is None and "ttft_s" in plan.figures:
            yield asked, plan
            count -= 1
        if not count:
            return


@pytest.mark.parametrize("seed", seeds(4))
def test_requests_that_are_played_see_what_the_plan_says(seed):
    outside: dict[str, list[str]] = {name: [] for name in OUTSIDE}
    cases = list(answered(COUNT, seed=seed))
    assert len(cases) == COUNT
    for asked, plan in cases:
        for name, value in seen(asked, plan).items():
            told = plan.figures[name]
            if not told.low <= value <= told.high:
                outside[name].append(f"{asked}: {value:.4g}, not {told.low:.4g}-{told.high:.4g}")
    for name, share in OUTSIDE.items():
        assert len(outside[name]) <= ceil(share * COUNT), "\n".join(outside[name])
