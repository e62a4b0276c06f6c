"""The processor with NumPy: matrix multiplication on all its threads, and main memory as STREAM counts it.

Memory is copied, added and put through the triad, by threads and by memory domain. Arrays together are far
larger than the caches. The triad runs in pieces whose scratch stays in the cache, so that 24 bytes pass for
each number, as in STREAM. On machines with several memory domains each is measured from its own processors,
and the first one from those of the last: the price of a wrong binding.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Barrier, Thread
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench.environment import usable_cpus
from rigright.machine.bench.record import BenchRequest, Result, Skipped
from rigright.machine.bench.tasks import Deadline, Task, fitting_bytes, measure, rate, timed
from rigright.machine.meminfo import meminfo
from rigright.machine.world import World, here

SIDES = (4096, 2048, 1024, 512)
_PILOT_S = 0.2
_RUNS = 5  # of each kind, at least, and as many as there is time for
KINDS = {"fp32": "float32", "fp64": "float64"}

PIECE = 128 * 1024  # numbers: a scratch of 1 MiB
_PASSES = {"copy": 2, "add": 3, "triad": 3}
LARGEST, QUICK_LARGEST, SMALLEST = GIB, 128 * MIB, 32 * MIB  # of one of three arrays
_ROOM = 6  # such arrays must fit into what is free
REPEATS, _QUICK_REPEATS = 8, 4
_NUMBER_BYTES = 8


def cpu_gemm(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Squares of random numbers."""
    import numpy as np

    until = Deadline.of(min(ask.spare_s, 20.0))
    source = np.random.default_rng(0)
    side = _side(source, until.left_s() / len(KINDS) / _RUNS)

    def product(spare_s: float, *, kind: str) -> Iterator[Result]:
        left, right = (source.standard_normal((side, side)).astype(kind) for _ in range(2))
        once = partial(np.matmul, left, right, out=np.empty_like(left))
        once()
        settings = (("shape", f"{side}x{side}x{side}"), ("threads", str(ask.cpus)), ("library", _library()))
        times = timed(once, Deadline.of(spare_s), most=20)
        yield rate(work=2.0 * side**3, times_s=times, unit="flops_per_s", settings=settings)

    tasks = [
        Task(what=name, on="cpu", run=partial(product, kind=kind), always=True)
        for name, kind in KINDS.items()
    ]
    yield from measure(tasks, until)


def _side(source: Any, spare_s: float) -> int:
    """The largest square whose product, in the slower kind, takes no longer than that.

    Beside other programs the small pilot waits up to thirty times as long as it works: its best run counts.
    """
    import numpy as np

    pilot = SIDES[-1]
    square = source.standard_normal((pilot, pilot))
    np.matmul(square, square)
    single_s = min(timed(lambda: np.matmul(square, square), Deadline.of(min(_PILOT_S, spare_s))))
    fits = (side for side in SIDES if single_s * (side / pilot) ** 3 < spare_s)
    return next(fits, pilot)


def _library() -> str:
    """What NumPy multiplies with."""
    import numpy as np

    try:
        value: Any = np.show_config(mode="dicts")
        blas = value["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (TypeError, KeyError):
        return f"numpy {np.__version__}"


def ram(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """All threads, then fewer of them, then each memory domain; of a quick run all threads alone."""
    world, cpus = here(), usable_cpus()
    most = QUICK_LARGEST if ask.quick else LARGEST
    size = fitting_bytes(meminfo(world).get("MemAvailable"), most=most, least=SMALLEST, times=_ROOM)
    if size is None:
        raise MissingError(say("not enough free system memory"))
    run = partial(_stream_rate, size=size, repeats=_QUICK_REPEATS if ask.quick else REPEATS)
    tasks = [
        Task(what=name, on="cpu", run=partial(run, name=name, cpus=cpus), always=True) for name in _PASSES
    ]
    if not ask.quick:
        shares = [(f"{count} threads", cpus[:count]) for count in _thread_counts(len(cpus))]
        nodes = domains(world, allowed=frozenset(cpus))
        shares += [(f"domain {index}", near) for index, near in nodes] if len(nodes) > 1 else []
        tasks += [
            Task(what=f"triad, {name}", on="cpu", run=partial(run, name="triad", cpus=some))
            for name, some in shares
        ]
        if len(nodes) > 1:
            (first, near), (last, far) = nodes[0], nodes[-1]
            what = f"triad, domain {first} from {last}"
            tasks += [Task(what=what, on="cpu", run=partial(run, name="triad", cpus=far, touched_by=near))]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _thread_counts(most: int) -> list[int]:
    """1, 2, 4 ... below all of them."""
    return [2**power for power in range(12) if 2**power < most]


def domains(world: World, *, allowed: frozenset[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Memory domains with the processors of each that may be used."""
    pairs = []
    for name in world.names("/sys/devices/system/node"):
        number = name.removeprefix("node")
        if number != name and number.isdecimal():
            listed = cpu_list(world.text(f"/sys/devices/system/node/{name}/cpulist") or "")
            cpus = tuple(cpu for cpu in listed if cpu in allowed)
            pairs += [(int(number), cpus)] if cpus else []
    return sorted(pairs)


def cpu_list(text: str) -> list[int]:
    """Read "0-3,8"."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            numbers += range(int(first), min(int(last or first), int(first) + 4096) + 1)
    return numbers


def _stream_rate(
    _spare_s: float,
    *,
    name: str,
    cpus: tuple[int, ...],
    size: int,
    repeats: int,
    touched_by: tuple[int, ...] | None = None,
) -> Iterator[Result]:
    """Every thread works on its share; the time is that of the slowest."""
    count = size // _NUMBER_BYTES // len(cpus)
    times = _together(name, count=count, cpus=cpus, repeats=repeats, touched_by=touched_by or cpus)
    yield rate(
        work=float(_PASSES[name] * _NUMBER_BYTES * count * len(cpus)),
        times_s=times,
        unit="bytes_per_s",
        settings=(
            ("threads", str(len(cpus))),
            ("array", f"{size // MIB} MiB"),
            ("counted", "read + written"),
        ),
    )


def _together(
    name: str, *, count: int, cpus: tuple[int, ...], repeats: int, touched_by: tuple[int, ...]
) -> list[float]:
    """Times of all threads from a common start to the last end; the first run warms and is left out."""
    start, end = Barrier(len(cpus) + 1), Barrier(len(cpus) + 1)

    def work(place: int) -> None:
        try:
            bind(touched_by[place % len(touched_by)])
            once = _kernel(name, count)
            bind(cpus[place])
            for _ in range(repeats + 1):
                start.wait()
                once()
                end.wait()
        except (MemoryError, OSError):
            start.abort()  # the others are not left waiting
            end.abort()

    threads = [Thread(target=work, args=(place,), daemon=True) for place in range(len(cpus))]
    for thread in threads:
        thread.start()
    times = []
    for _ in range(repeats + 1):
        start.wait()
        began = time.perf_counter()
        end.wait()
        times.append(time.perf_counter() - began)
    for thread in threads:
        thread.join()
    return times[1:]


def bind(cpu: int) -> None:
    """Hold this thread to one processor, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cpu})


def _kernel(name: str, count: int) -> Callable[[], None]:
    """One pass; the arrays are touched here first, so they lie in this thread's domain."""
    import numpy as np

    first, second = np.ones(count), np.ones(count)
    out, scratch = np.zeros(count), np.empty(min(PIECE, count))
    if name == "copy":
        return lambda: np.copyto(out, first)
    if name == "add":

        def add() -> None:
            np.add(first, second, out=out)

        return add

    def triad() -> None:
        for begin in range(0, count, PIECE):
            piece = slice(begin, min(begin + PIECE, count))
            part = scratch[: piece.stop - begin]
            np.multiply(second[piece], 1.5, out=part)
            np.add(first[piece], part, out=out[piece])

    return triad
