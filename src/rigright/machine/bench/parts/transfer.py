"""Copies between main memory and each card, from pinned and from pageable memory, and both ways at once.

The link's generation and width are read right after the copy: an idle card rests in a slow state,
so what it shows then says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rigright.base.units import MIB
from rigright.base.words import say
from rigright.machine.bench.accelerator import Accelerator, accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import Settings, rate
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import pytorch
from rigright.machine.pci import link_at
from rigright.machine.world import World, here

TITLE = say("copies between host memory and each GPU")
GROUP = "cards"
NEEDS = ("torch", "accelerator")
SHARE = 1.0

SIZE, QUICK_SIZE = 256 * MIB, 128 * MIB


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Each direction and kind of memory on every card."""
    until = Deadline.of(ask.spare_s)
    cards = accelerators(ask)
    size = QUICK_SIZE if ask.quick else SIZE
    ways = ["h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable"]
    ways += ["both ways pinned"] if cards and cards[0].kind == "cuda" else []
    if cards and cards[0].kind == "mps":
        yield Skipped(part="", why=say("unified memory: nothing to copy"))
        return
    left = len(ways) * len(cards)
    for way in ways:
        for card in cards:
            times = card.times(_copy(way, card, size=size), min(until.left_s() / left, 1.0))
            left -= 1
            yield rate(
                way,
                on=card.on,
                work=float(size * (2 if way.startswith("both") else 1)),
                times_s=times,
                unit="bytes_per_s",
                settings=(("size", f"{size // MIB} MiB"), *link_of(card)),
            )


def _copy(way: str, card: Accelerator, *, size: int) -> Callable[[], Any]:
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


def link_of(card: Accelerator) -> Settings:
    """The link as it is at this moment, in the words of the expectations."""
    address = _pci_address(card)
    return () if address is None else _settings_of(here(), address)


def _settings_of(world: World, address: str) -> Settings:
    """Generation and lanes of a device of the bus, where the system shows them."""
    link = link_at(world, f"/sys/bus/pci/devices/{address}")
    return (("pcie_gen", str(link.gen)), ("pcie_lanes", str(link.lanes))) if link.gen and link.lanes else ()


def _pci_address(card: Accelerator) -> str | None:
    """Where the card stands on the bus, as the system writes it."""
    if card.kind != "cuda":
        return None
    torch = pytorch()

    about = torch.cuda.get_device_properties(card.index)
    bus, place = getattr(about, "pci_bus_id", None), getattr(about, "pci_device_id", None)
    if not isinstance(bus, int) or not isinstance(place, int):
        return None
    return f"{getattr(about, 'pci_domain_id', 0):04x}:{bus:02x}:{place:02x}.0"
