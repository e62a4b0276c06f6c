"""Preparing data on the processor: how parsing CSV and decoding pictures grow with worker processes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate, spread, timed
from rigright.machine.bench.picture import packed, prepared, worker_counts
from rigright.machine.bench.record import Result, Skipped

TITLE = say("CPU preprocessing, by number of workers")
GROUP = "processor"
NEEDS = ("numpy",)
SHARE = 1.0

ROWS, COLUMNS = 4000, 12
PICTURES = 24
ROUND_S, QUICK_ROUND_S = 1.5, 0.2


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """One worker, then twice as many each time, and how well it scales."""
    until = Deadline.of(ask.spare_s)
    counts = worker_counts(ask.cpus)
    counts = [counts[0], counts[-1]] if ask.quick and len(counts) > 2 else counts
    results: dict[str, dict[int, Result]] = {name: {} for name in JOBS}
    for workers in counts:
        if until.is_over() and workers > 1:
            yield Skipped(part="", why=say("time ran out before {what}", what=f"{workers} workers"))
            break
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for name in JOBS:
                results[name][workers] = _measured(name, pool, workers=workers, quick=ask.quick)
                yield results[name][workers]
    for name, figures in results.items():
        most = max(figures)
        if most > 1:
            share = figures[most].value / figures[1].value / most
            yield spread(f"{name}, scaling at {most} workers", on="cpu", values=[share], unit="ratio")


def _measured(name: str, pool: ProcessPoolExecutor, *, workers: int, quick: bool) -> Result:
    job, items, unit = JOBS[name]
    # times of rounds in which every worker does the job once
    spare_s = QUICK_ROUND_S if quick else ROUND_S
    list(pool.map(job, range(workers * 2)))
    return rate(
        f"{name}, {workers} workers",
        on="cpu",
        work=float(items * workers),
        times_s=timed(lambda: list(pool.map(job, range(workers))), Deadline.of(spare_s)),
        unit="items_per_s",
        settings=(("workers", str(workers)), ("item", unit)),
    )


def parse(_seed: int) -> int:
    """Read one table and turn its cells to numbers."""
    text = table()
    return sum(len([float(cell) for cell in row]) for row in csv.reader(io.StringIO(text)))


def table() -> str:
    """Rows of numbers as a file would hold them."""
    line = ",".join(f"{column * 1.37:.4f}" for column in range(COLUMNS))
    return f"{line}\n" * ROWS


def decode(seed: int) -> int:
    """Decode some pictures and prepare them."""
    data = _packed_once(seed % 2)
    return sum(prepared(data).shape[0] for _ in range(PICTURES))


_KEPT: dict[int, bytes] = {}


def _packed_once(seed: int) -> bytes:
    """One of two pictures, made when it is first asked for."""
    if seed not in _KEPT:
        _KEPT[seed] = packed(seed)
    return _KEPT[seed]


JOBS: dict[str, tuple[Callable[[int], int], int, str]] = {
    "csv": (parse, ROWS, "rows"),
    "pictures": (decode, PICTURES, "pictures of 512x512"),
}
