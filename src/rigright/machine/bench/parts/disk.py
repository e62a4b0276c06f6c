"""The disk under a folder: random reads of 4 KiB, sequential reads and writes, past the page cache.

With fio it is the guides' job (libaio, 32 deep, four processes, 10 GiB, 60 s) and two sequential ones;
without it, or without its engine, an own reader with threads, which asks less of a fast disk: its figures
bear names of their own. With less time or room the file and the run
are smaller; the settings say so. A folder in memory (tmpfs) is no disk and is refused.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError, MissingError
from rigright.base.units import GIB, GIGA, KIB, MIB, show_bytes
from rigright.base.words import Sentence, say
from rigright.machine.bench.record import BenchRequest, Result, Settings, Skipped
from rigright.machine.bench.storage import (
    BLOCK,
    aligned,
    cool,
    fill,
    nameless,
    past_the_cache,
    place_of,
    room,
)
from rigright.machine.bench.tasks import Deadline, once_s, program_output, rate, spread

SIZE, QUICK_SIZE = 10 * GIB, 256 * MIB
SMALL = 4096
_THREADS = 16  # of the own reader
_MOST_READS = 200_000
_ROUNDS = 20
_SHORTEST_S = 1.0  # of one of fio's jobs
_WRITE_BYTES_PER_S = 300 * MIB  # a slow disk: how large a file can be written in the time there is
_LONGEST_JSON = 4 * MIB  # of fio


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of fio."""

    name: str
    pattern: str  # "randread", "read", "write"
    block_bytes: int
    depth: int
    jobs: int
    run_s: float


GUIDE = Job(name="random read 4 KiB", pattern="randread", block_bytes=4 * KIB, depth=32, jobs=4, run_s=60.0)
READ = Job(name="sequential read 1 MiB", pattern="read", block_bytes=MIB, depth=16, jobs=1, run_s=20.0)
_WRITE = Job(name="sequential write 1 MiB", pattern="write", block_bytes=MIB, depth=16, jobs=1, run_s=15.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FioResult:
    """What a job reached."""

    ops_per_s: float
    ops_least: float
    ops_most: float
    bytes_per_s: float
    latency_p99_s: float | None
    version: str


def disk(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Write the file once, then read it in every way."""
    folder = ask.folder or "."
    place = place_of(folder)
    if place.in_memory:
        raise MissingError(
            say(
                "{folder} is in memory ({kind}), not on a disk; use --disk for another folder",
                folder=shown(ask),
                kind=place.kind,
            )
        )
    wanted = QUICK_SIZE if ask.quick else SIZE
    size = room(place, min(wanted, max(QUICK_SIZE, int(ask.spare_s / 3 * _WRITE_BYTES_PER_S))))
    until = Deadline.of(ask.spare_s)
    with nameless(folder) as file:
        took = once_s(lambda: fill(file, size))
        settings = (
            ("file", show_bytes(size)),
            ("file system", place.kind or "not known"),
            ("data", "random"),
        )
        if shutil.which("fio") and hasattr(os, "posix_fadvise"):
            failed = yield from _with_fio(ask, file, size=size, settings=settings, until=until)
            if failed is None:
                return
            yield Skipped(part="", why=failed)
        yield rate(
            "sequential write", on=shown(ask), work=float(size), times_s=[took], unit="bytes_per_s",
            settings=(*settings, ("cache", "until fsync was done")),
        )  # fmt: skip
        yield from _own(ask, file, size=size, settings=settings, until=until)


def shown(ask: BenchRequest) -> str:
    """The folder as the user knows it."""
    return ask.shown_folder or ask.folder or "."


def _with_fio(
    ask: BenchRequest, file: int, *, size: int, settings: Settings, until: Deadline
) -> Generator[Result, None, Sentence | None]:
    """Fio's jobs, on the file that has no name any more; what it says where it cannot run them."""
    path = f"/proc/{os.getpid()}/fd/{file}"
    for index, job in enumerate((GUIDE, READ, _WRITE)):
        spare_s = max(_SHORTEST_S, until.left_s() / (3 - index) - 1.0)
        fitted = replace(job, run_s=float(round(min(job.run_s, spare_s))))
        try:
            done = fio(fitted, file=path, size=size, patience_s=fitted.run_s + 30)
        except DataError as error:
            return error.sentence
        words = (
            *settings,
            *(("tool", done.version), ("engine", "libaio"), ("depth", str(job.depth))),
            *(("jobs", str(job.jobs)), ("ran", f"{fitted.run_s:g} s"), ("cache", "O_DIRECT")),
        )
        yield from _of_fio(job, done, on=shown(ask), settings=words)
    return None


def _of_fio(job: Job, done: FioResult, *, on: str, settings: Settings) -> Iterator[Result]:
    if job.pattern.startswith("rand"):
        result = spread(job.name, on=on, values=[done.ops_per_s], unit="ops_per_s", settings=settings)
        yield replace(result, low=min(done.ops_least, result.value), high=max(done.ops_most, result.value))
        if done.latency_p99_s is not None:
            name = f"{job.name}, slowest of a hundred"
            yield spread(name, on=on, values=[done.latency_p99_s], unit="s", settings=settings)
        return
    yield spread(job.name, on=on, values=[done.bytes_per_s], unit="bytes_per_s", settings=settings)


def fio(job: Job, *, file: str, size: int, patience_s: float) -> FioResult:
    """Run a job and read what it says."""
    return fio_result(program_output(command(job, file=file, size=size), patience_s=patience_s), job.pattern)


def command(job: Job, *, file: str, size: int) -> list[str]:
    """The line that runs a job; all its processes share one file."""
    return [
        *("fio", f"--name={job.pattern}", f"--filename={file}", "--ioengine=libaio"),
        *(f"--iodepth={job.depth}", f"--rw={job.pattern}", f"--bs={job.block_bytes}", "--direct=1"),
        *(f"--size={size}", f"--numjobs={job.jobs}", f"--runtime={job.run_s:g}", "--time_based"),
        *("--group_reporting", "--refill_buffers", "--randrepeat=0", "--output-format=json"),
    ]


def fio_result(text: str, pattern: str) -> FioResult:
    """Read fio's JSON; warnings may stand before it."""
    begin = text[:_LONGEST_JSON].find("{")
    try:
        fields: Mapping[str, Any] = bounded_json(text[begin:_LONGEST_JSON]) if begin >= 0 else {}
        side = fields["jobs"][0]["write" if pattern.endswith("write") else "read"]
        latency = side.get("clat_ns", {})
        tail = latency.get("percentile", {}).get("99.000000")
        return FioResult(
            ops_per_s=float(side["iops"]),
            ops_least=float(side.get("iops_min") or side["iops"]),
            ops_most=float(side.get("iops_max") or side["iops"]),
            bytes_per_s=float(side["bw_bytes"]),
            latency_p99_s=_seconds(tail),
            version=str(fields.get("fio version", "fio")),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
        raise DataError(say("cannot read the output of {what}", what="fio")) from None


def _seconds(nanoseconds: object) -> float | None:
    return float(nanoseconds) / GIGA if isinstance(nanoseconds, int | float) else None


def _own(ask: BenchRequest, file: int, *, size: int, settings: Settings, until: Deadline) -> Iterator[Result]:
    """The own reader: direct where the system lets it, else with the pages dropped before."""
    with past_the_cache(file) as direct:
        how = "O_DIRECT" if direct is not None else cool(file)
        source = file if direct is None else direct
        words = (*settings, ("tool", "own reader"), ("threads", str(_THREADS)), ("cache", how))
        half = Deadline.of(min(until.left_s() / 2, 15.0))
        chunks = list(range(0, size - BLOCK + 1, BLOCK))
        times = _reads(source, chunks, size=BLOCK, until=half)
        yield rate(
            "sequential read",
            on=shown(ask),
            work=float(BLOCK),
            times_s=times,
            unit="bytes_per_s",
            settings=words,
        )
        if direct is None:
            cool(file)
        places = [SMALL * random.randrange(size // SMALL) for _ in range(_MOST_READS)]  # noqa: S311 - no secret
        rest = Deadline.of(min(until.left_s(), 15.0))
        times = _reads(source, places, size=SMALL, until=rest)
        what = f"random read 4 KiB, {_THREADS} threads"
        yield rate(what, on=shown(ask), work=1.0, times_s=times, unit="ops_per_s", settings=words)


def _reads(file: int, places: list[int], *, size: int, until: Deadline) -> list[float]:
    """Seconds a read in each of some rounds, all threads together."""
    step = max(_THREADS, len(places) // _ROUNDS)
    rounds = [places[start : start + step] for start in range(0, len(places), step)]
    times: list[float] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for numbers in rounds:
            if times and until.is_over():
                break
            began = time.perf_counter()
            shares = [numbers[index::_THREADS] for index in range(_THREADS)]

            def read(places: list[int]) -> None:
                with aligned(size) as buffer:
                    for place in places:
                        os.preadv(file, [buffer], place)

            list(pool.map(read, shares))
            times.append((time.perf_counter() - began) / len(numbers))
    return times
