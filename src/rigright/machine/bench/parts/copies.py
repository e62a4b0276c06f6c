"""Copies: between main memory and each card, and between cards; with PyTorch, or with nvbandwidth.

The link's generation and width are read right after the copy: an idle card rests in a slow state,
so what it shows then says nothing. Where the driver allows no direct copy between two cards the data goes
through main memory: that is measured too, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bench import logs
from rigright.machine.bench.accelerator import Accelerator, accelerators, pytorch
from rigright.machine.bench.record import BenchRequest, Result, Settings, Skipped
from rigright.machine.bench.tasks import Deadline, Task, measure, program_results, rate
from rigright.machine.pci import link_at
from rigright.machine.world import here

SIZE, QUICK_SIZE = 256 * MIB, 128 * MIB
_WAYS = ("h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable")
NVBANDWIDTH = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
)


def transfer(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Each direction and kind of main memory on every card; both ways at once on those of CUDA."""
    cards = accelerators(ask)
    if cards and cards[0].kind == "mps":
        raise MissingError(say("unified memory: nothing to copy"))
    ways = (*_WAYS, "both ways pinned") if cards and cards[0].kind == "cuda" else _WAYS
    tasks = [
        Task(
            what=way,
            on=card.on,
            run=partial(_host_copy_rate, way=way, card=card, size=_size(ask)),
            most_s=1.0,
            always=True,
        )
        for way in ways
        for card in cards
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _size(ask: BenchRequest) -> int:
    return QUICK_SIZE if ask.quick else SIZE


def _host_copy_rate(spare_s: float, *, way: str, card: Accelerator, size: int) -> Iterator[Result]:
    times = card.times(_host_copy(way, card, size=size), spare_s)
    yield _copy_rate(times, size=size, both=way.startswith("both"), settings=_link_of(card))


def _copy_rate(times_s: list[float], *, size: int, both: bool, settings: Settings) -> Result:
    return rate(
        work=float(size * (2 if both else 1)),
        times_s=times_s,
        unit="bytes_per_s",
        settings=(("size", f"{size // MIB} MiB"), *settings),
    )


def _host_copy(way: str, card: Accelerator, *, size: int) -> Callable[[], Any]:
    torch = pytorch()
    pinned = way.endswith("pinned")
    host = torch.empty(size, dtype=torch.uint8, pin_memory=pinned).fill_(3)
    there = torch.empty(size, dtype=torch.uint8, device=card.device)
    if way.startswith("h2d"):
        return lambda: there.copy_(host, non_blocking=pinned)
    if way.startswith("d2h"):
        return lambda: host.copy_(there, non_blocking=pinned)
    back = torch.empty(size, dtype=torch.uint8, device=card.device)
    landed = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    streams = [torch.cuda.Stream(card.index) for _ in range(2)]

    def both() -> None:
        with torch.cuda.stream(streams[0]):
            there.copy_(host, non_blocking=True)
        with torch.cuda.stream(streams[1]):
            landed.copy_(back, non_blocking=True)

    return both


def _link_of(card: Accelerator) -> Settings:
    """The link as it is at this moment, in the words of the expectations, where the system shows it."""
    if card.kind != "cuda":
        return ()
    about = pytorch().cuda.get_device_properties(card.index)
    bus, place = getattr(about, "pci_bus_id", None), getattr(about, "pci_device_id", None)
    if not isinstance(bus, int) or not isinstance(place, int):
        return ()
    address = f"{getattr(about, 'pci_domain_id', 0):04x}:{bus:02x}:{place:02x}.0"
    link = link_at(here(), f"/sys/bus/pci/devices/{address}")
    return (("pcie_gen", str(link.gen)), ("pcie_lanes", str(link.lanes))) if link.gen and link.lanes else ()


def peer(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every ordered pair of cards, then every pair both ways."""
    pairs = list(permutations(accelerators(ask), 2))
    ways = [("one way", f"{a.on} -> {b.on}", a, b) for a, b in pairs]
    ways += [("both ways", f"{a.on} <-> {b.on}", a, b) for a, b in pairs if a.index < b.index]
    tasks = [
        Task(
            what=what,
            on=on,
            run=partial(_card_copy, pair=(a, b), both=" <-> " in on, size=_size(ask)),
            most_s=0.3,
        )
        for what, on, a, b in ways
    ]
    yield from measure(tasks, Deadline.of(ask.spare_s))


def _card_copy(
    spare_s: float, *, pair: tuple[Accelerator, Accelerator], both: bool, size: int
) -> Iterator[Result]:
    a, b = pair
    direct = bool(pytorch().cuda.can_device_access_peer(a.index, b.index))
    times = a.times(_copy_between(a, b, size=size, both=both), spare_s)
    settings = (("direct", "yes" if direct else "no, through main memory"),)
    yield _copy_rate(times, size=size, both=both, settings=settings)


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


def nvbandwidth(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """One run of all tests, where the program is on the path: no PyTorch is needed."""
    command = ["nvbandwidth", "-j", "-t", *NVBANDWIDTH]
    yield from program_results(command, logs.nvbandwidth, patience_s=ask.spare_s)
