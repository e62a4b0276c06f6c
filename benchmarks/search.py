"""The search: layouts scored a second, how time grows with them, and whole processes against their targets.

`python benchmarks/search.py [MODEL]`. Targets: 2 million layouts a second on two cores, linear; the whole
catalogue for one model, cold, in 1.5 s; one machine with limits, cold, in 0.6 s and 150 MB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rigright.arch.sources.open import open_model
from rigright.cost.speed.work import work_of
from rigright.demand import PlanWish
from rigright.search.market import market_on
from rigright.search.question import ask
from rigright.search.score import _rates, _serve, score
from rigright.search.serving import find_serving

ROOT = Path(__file__).parent.parent
SIZES = (10_000, 100_000, 1_000_000)
WISH = PlanWish(prompt_tok=2048, output_tok=512, users=64, ttft_s=2, tpot_s=0.05)
COLD = """
import sys
from datetime import date
from rigright.arch.sources.open import open_model
from rigright.demand import PlanWish
from rigright.search.market import market_on
from rigright.search.serving import find_serving
wish = PlanWish(prompt_tok=2048, output_tok=512, {wish})
found = find_serving(open_model("{model}"), wish, market=market_on(date.today()))
print(found.looked_at)
"""
RUNS = {
    "one machine: 8x h100, TTFT 1 s, TPOT 50 ms": "on='8x h100', ttft_s=1, tpot_s=0.05",
    "the catalogue for 64 users": "users=64, ttft_s=2, tpot_s=0.05",
    "the catalogue, every load": "",
}


def cold(model: str, wish: str) -> tuple[float, float, float, str]:
    """Seconds, seconds of CPU and MiB of one whole process, and how many layouts it scored."""
    start = time.perf_counter()
    command = [sys.executable, "-P", "-c", COLD.format(model=model, wish=wish)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    told = process.stdout.read().strip() if process.stdout else ""
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    spent = (time.perf_counter() - start, usage.ru_utime + usage.ru_stime)
    return *spent, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10), told


def throughput(model: str) -> None:
    """Service of many layouts, on the two threads that the search takes."""
    arch = open_model(model)
    question = ask(arch, WISH, market=market_on(datetime.now(tz=UTC).date()))
    question = replace(question, ways=question.ways[:1])
    scored = score(question)
    way = question.ways[0]
    kinds = [question.kinds[place] for place in way.kinds]
    work, rates = work_of(arch, weights=way.weights, kv=way.kv), _rates(way, kinds)
    rows = np.searchsorted(np.asarray(way.kinds), scored.points.kind)
    scored = replace(scored, points=replace(scored.points, row=rows))

    dice = np.random.default_rng(0)
    for size in SIZES:
        many = scored.take(dice.integers(0, len(scored.points), size))
        start, worked = time.perf_counter(), time.process_time()
        _serve(question, many, work=work, rates=rates, way=way)
        wall, cpu = time.perf_counter() - start, time.process_time() - worked
        print(f"{size:>10,} layouts: {size / wall / 1e6:.2f} M/s; {size / cpu / 1e6:.2f} M a second of CPU")


def main(model: str = "llama-3.1-70b") -> None:
    """Both tables."""
    for name, wish in RUNS.items():
        runs = [cold(model, wish) for _ in range(5)]
        best = min(runs)
        print(
            f"{name:<48} {best[0]:.2f} s ({best[1]:.2f} of CPU), "
            f"{best[2]:.0f} MiB, {int(best[3]):,} layouts, cold"
        )
    start = time.perf_counter()
    found = find_serving(open_model(model), WISH, market=market_on(datetime.now(tz=UTC).date()))
    spent = time.perf_counter() - start
    print(f"{'the catalogue again, warm':<48} {spent:.2f} s, {found.looked_at:,} layouts")
    throughput(model)


if __name__ == "__main__":
    main(*sys.argv[1:2])
