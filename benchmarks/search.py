"""Scoring layouts, in one process on two threads: how many a second, and whether time grows with them.

`python benchmarks/search.py [MODEL]`. Target: 2 million servings a second on two cores, linear.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from rigright.arch.sources.open import open_model
from rigright.demand import PlanWish
from rigright.predict.columns import at
from rigright.search import score, training_space
from rigright.search.market import market_on
from rigright.search.question import Question, ask, kinds_of
from rigright.search.training import filled
from rigright.search.training_space import training_wish, ways_of

SIZES = (10_000, 100_000, 1_000_000)
WISH = PlanWish(prompt_tok=2048, output_tok=512, users=64, ttft_s=2, tpot_s=0.05)
COUNTS = (8, 64, 512)  # chips of the trainings that are drawn from


def servings(model: str):
    """Points of one way of serving, and a function that scores some of them."""
    arch = open_model(model)
    question = ask(arch, WISH, market=market_on(datetime.now(tz=UTC).date()))
    question = replace(question, ways=question.ways[:1])
    way = question.ways[0]
    ways_to_cut = score._replicas(question, way, deployment=score._deployment(question, way))
    item, fitted = max(
        ((item, score._fitting(item)) for item in ways_to_cut), key=lambda pair: len(pair[1].points)
    )

    def run(index):
        many = fitted.take(index)
        return lambda: score._served(item, many)

    return len(fitted.points), run


def trainings(model: str):
    """The same of one way of pre-training: time of a step; training_layouts.py is about memory."""
    arch = open_model(model)
    wish, _ = filled(arch, PlanWish(work="pretrain"))
    market = market_on(datetime.now(tz=UTC).date())
    kinds = kinds_of(wish, counts=COUNTS, market=market)
    question = Question(arch=arch, wish=wish, market=market, kinds=kinds, ways=())
    ways = ways_of(question, training_wish(wish))
    question = replace(question, ways=ways)
    scored = training_space.score_trainings(question, batch=wish.global_batch or 1)
    place = int(np.bincount(scored.points.way).argmax())
    points = at(scored.points, np.flatnonzero(scored.points.way == place))
    own = [kinds[kind] for kind in ways[place].kinds]

    def run(index):
        many = at(points, index)
        return lambda: training_space._timed(arch, ways[place].space, points=many, kinds=own)

    return len(points), run


def table(name, made):
    """A row for each size."""
    size, run = made
    dice = np.random.default_rng(0)
    for count in SIZES:
        task = run(dice.integers(0, size, count))
        spent = []
        for _ in range(3):
            start, worked = time.perf_counter(), time.process_time()
            task()
            spent.append((time.perf_counter() - start, time.process_time() - worked))
        wall, cpu = (min(column) for column in zip(*spent, strict=True))
        print(
            f"{count:>10,} {name}: {wall:.3f} s, {count / wall / 1e6:.2f} million a second;"
            f" {count / cpu / 1e6:.2f} a second of CPU"
        )


def main(model: str = "llama-3.1-70b") -> None:
    """Both tables."""
    table("servings", servings(model))
    table("trainings", trainings(model))


if __name__ == "__main__":
    main(*sys.argv[1:2])
