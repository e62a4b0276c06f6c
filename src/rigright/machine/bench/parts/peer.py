"""Copies from every card to every other, one way and both ways at once.

Where the driver allows no direct copy the data goes through main memory: that is measured too, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch

TITLE = say("GPU-to-GPU copies")
GROUP = "cards"
NEEDS = ("torch", "two accelerators")
SHARE = 1.5

SIZE, QUICK_SIZE = 256 * MIB, 128 * MIB


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every ordered pair, then every pair both ways."""
    torch = pytorch()

    until = Deadline.of(ask.spare_s)
    cards = accelerators(ask)
    size = QUICK_SIZE if ask.quick else SIZE
    tasks = [(a, b, False) for a, b in permutations(cards, 2)]
    tasks += [(a, b, True) for a, b in permutations(cards, 2) if a.index < b.index]
    for index, (a, b, both) in enumerate(tasks):
        if until.is_over():
            yield Skipped(part="", why=say("time ran out after {done} of {all}", done=index, all=len(tasks)))
            return
        direct = bool(torch.cuda.can_device_access_peer(a.index, b.index))
        once = _copy_between(a, b, size=size, both=both)
        yield rate(
            "both ways" if both else "one way",
            on=f"{a.on} -> {b.on}" if not both else f"{a.on} <-> {b.on}",
            work=float(size * (2 if both else 1)),
            times_s=a.times(once, min(until.left_s() / (len(tasks) - index), 0.3)),
            unit="bytes_per_s",
            settings=(
                ("size", f"{size // MIB} MiB"),
                ("direct", "yes" if direct else "no, through main memory"),
            ),
        )


def _copy_between(a: Accelerator, b: Accelerator, *, size: int, both: bool) -> Callable[[], Any]:
    """One copy from a to b, or one each way on two streams; the other card is waited for too."""
    torch = pytorch()

    source = torch.empty(size, dtype=torch.uint8, device=a.device).random_()
    target = torch.empty(size, dtype=torch.uint8, device=b.device)
    if not both:
        return lambda: target.copy_(source, non_blocking=True)
    back = torch.empty(size, dtype=torch.uint8, device=b.device)
    landed = torch.empty(size, dtype=torch.uint8, device=a.device)
    on_a, on_b = torch.cuda.Stream(a.index), torch.cuda.Stream(b.index)

    def once() -> None:
        with torch.cuda.stream(on_a):
            target.copy_(source, non_blocking=True)
        with torch.cuda.stream(on_b):
            landed.copy_(back, non_blocking=True)
        on_a.synchronize()
        on_b.synchronize()

    return once
