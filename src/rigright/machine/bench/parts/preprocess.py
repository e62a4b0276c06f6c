"""Preparing data on the processor: how parsing CSV and decoding pictures grow with worker processes."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rigright.base.words import say
from rigright.machine.bench.ask import Ask, Deadline
from rigright.machine.bench.figures import rate, spread
from rigright.machine.bench.picture import packed, prepared
from rigright.machine.bench.preparing import worker_counts
from rigright.machine.bench.record import Result, Skipped

TITLE = say("preparing data on the processor, by worker processes")
GROUP = "processor"
NEEDS = ()
SHARE = 1.0

ROWS, COLUMNS = 4000, 12
PICTURES = 24
ROUND_S, QUICK_ROUND_S = 1.5, 0.4


def run(ask: Ask) -> Iterator[Result | Skipped]:
    """One worker, then twice as many each time, and how well it scales."""
    until = Deadline.of(ask.spare_s)
    counts = worker_counts(ask.cpus)
    jobs = ((parse, "csv", ROWS, "rows"), (decode, "pictures", PICTURES, "pictures of 512x512"))
    for job, name, items, unit in jobs:
        found: dict[int, Result] = {}
        for workers in counts:
            if until.is_over() and found:
                yield Skipped(part="", why=say("time ran out before {what}", what=f"{name}, {workers}"))
                break
            times = _rounds(job, workers, spare_s=QUICK_ROUND_S if ask.quick else ROUND_S)
            found[workers] = rate(
                f"{name}, {workers} workers",
                on="cpu",
                work=float(items * workers),
                times_s=times,
                unit="items_per_s",
                settings=(("workers", str(workers)), ("item", unit)),
            )
            yield found[workers]
        most = max(found)
        if most > 1:
            share = found[most].value / found[1].value / most
            yield spread(f"{name}, scaling at {most} workers", on="cpu", values=[share], unit="ratio")


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
    data = packed_once(seed % 2)
    return sum(prepared(data).shape[0] for _ in range(PICTURES))


_KEPT: dict[int, bytes] = {}


def packed_once(seed: int) -> bytes:
    """One of two pictures, made when it is first asked for."""
    if seed not in _KEPT:
        _KEPT[seed] = packed(seed)
    return _KEPT[seed]


def _rounds(job: Callable[[int], int], workers: int, *, spare_s: float) -> list[float]:
    """Times of rounds in which every worker does the job once."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(job, range(workers * 2)))
        until = Deadline.of(spare_s)
        times: list[float] = []
        while len(times) < 3 or not until.is_over():
            began = time.perf_counter()
            list(pool.map(job, range(workers)))
            times.append(time.perf_counter() - began)
    return times
