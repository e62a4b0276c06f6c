"""Requests played: a trace of 300 (target 0.2 s), a million (60 s), and how time grows between.

`python benchmarks/simulator.py [TRACES]`: a folder of traces with their setups; without it, and where the
project's measured runs are not beside it, a made load of 300 stands in.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from processes import PER_KIB, ROOT

from rigright.demand import ServingWish
from rigright.verbs.simulate.setup import PlayWish
from rigright.verbs.simulate.verb import simulate

TRACES = ROOT.parent / "shared" / "measured" / "traces"
SIZES = (10_000, 100_000, 1_000_000)


def timed(name, task):
    """One line: the fastest of some runs; a long one is run once."""
    spent = []
    while len(spent) < 5 and sum(wall for wall, _ in spent) < 3:
        start, worked = time.perf_counter(), time.process_time()
        task()
        spent.append((time.perf_counter() - start, time.process_time() - worked))
    wall, cpu = (min(column) for column in zip(*spent, strict=True))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PER_KIB
    print(f"{name:<64} {wall:8.2f} s {cpu:8.2f} s {held:6.0f} MiB")


def made(count):
    """Users who never stop asking, with lengths that spread."""
    load = PlayWish(
        prompt_tok=1024, output_tok=256, prompt_spread=0.5, output_spread=0.5, rate_per_s=8.0, requests=count
    )
    return lambda: simulate("llama-3.1-8b", "h100", wish=ServingWish(engine="vllm"), load=load)


def main(folder: str | Path = TRACES) -> None:
    """Traces, then loads that are made up."""
    print(f"{'in one process':<64} {'fastest':>10} {'CPU':>10} {'most held':>10}")
    traces = sorted(Path(folder).glob("*.csv"))
    for trace in traces:
        load = PlayWish(trace=str(trace), setup=str(trace.with_suffix(".json")))
        timed(f"trace {trace.stem}", lambda load=load: simulate(load=load))
    for count in SIZES if traces else (300, *SIZES):
        timed(f"{count:,} requests at 8/s, Llama-3.1-8B on one H100", made(count))


if __name__ == "__main__":
    main(*sys.argv[1:2])
