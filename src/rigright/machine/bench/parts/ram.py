"""Bandwidth of main memory as STREAM counts it: copy, add and triad, by threads and by memory domain.

Arrays together are far larger than the caches. The triad runs in pieces whose scratch stays in the cache,
so that 24 bytes pass for each number, as in STREAM. On machines with several memory domains each is
measured from its own processors, and the first one from those of the last: the price of a wrong binding.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from threading import Barrier, Thread

from rigright.base.units import GIB, MIB
from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.meminfo import meminfo
from rigright.machine.world import World, here

TITLE = say("system memory bandwidth")
GROUP = "processor"
NEEDS = ("numpy",)
SHARE = 0.7

PIECE = 128 * 1024  # numbers: a scratch of 1 MiB
PASSES = {"copy": 2, "add": 3, "triad": 3}
LARGEST, QUICK_LARGEST, SMALLEST = GIB, 128 * MIB, 32 * MIB  # of one of three arrays
ROOM = 6  # such arrays must fit into what is free
REPEATS, QUICK_REPEATS = 8, 4
NUMBER_BYTES = 8


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """All threads, then fewer of them, then each memory domain."""
    until = Deadline.of(ask.spare_s)
    world = here()
    size = _array_bytes(free_bytes(world), most=QUICK_LARGEST if ask.quick else LARGEST)
    if size is None:
        yield Skipped(part="", why=say("not enough free system memory"))
        return
    repeats = QUICK_REPEATS if ask.quick else REPEATS
    for name in PASSES:
        yield _measured(name, size=size, cpus=tuple(usable()), repeats=repeats)
    for threads in _thread_counts(len(usable())):
        if until.is_over() or ask.quick:
            return
        cpus = tuple(usable()[:threads])
        yield _measured("triad", size=size, cpus=cpus, repeats=repeats, what=f"triad, {threads} threads")
    yield from _domains(world, size=size, repeats=repeats, until=until)


def _domains(world: World, *, size: int, repeats: int, until: Deadline) -> Iterator[Result]:
    nodes = domains(world, allowed=frozenset(usable()))
    if len(nodes) < 2:
        return
    (first, near), (last, far) = nodes[0], nodes[-1]
    for index, cpus in nodes:
        if until.is_over():
            return
        yield _measured("triad", size=size, cpus=cpus, repeats=repeats, what=f"triad, domain {index}")
    what = f"triad, domain {first} from {last}"
    yield _measured("triad", size=size, cpus=far, repeats=repeats, what=what, touched_by=near)


def usable() -> list[int]:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _thread_counts(most: int) -> list[int]:
    """1, 2, 4 ... below all of them."""
    return [2**power for power in range(12) if 2**power < most]


def free_bytes(world: World) -> float | None:
    """Main memory that can be taken, as Linux says it."""
    return meminfo(world).get("MemAvailable")


def _array_bytes(free: float | None, *, most: int) -> int | None:
    """The largest array of which several fit."""
    size = most
    while free is not None and size * ROOM > free and size >= SMALLEST:
        size //= 2
    return size if size >= SMALLEST else None


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


def _measured(
    name: str,
    *,
    size: int,
    cpus: tuple[int, ...],
    repeats: int,
    what: str | None = None,
    touched_by: tuple[int, ...] | None = None,
) -> Result:
    """Every thread works on its share; the time is that of the slowest."""
    count = size // NUMBER_BYTES // len(cpus)
    times = _together(name, count=count, cpus=cpus, repeats=repeats, touched_by=touched_by or cpus)
    return rate(
        what or name,
        on="cpu",
        work=float(PASSES[name] * NUMBER_BYTES * count * len(cpus)),
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
