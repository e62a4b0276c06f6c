"""What stands around the cards: processor and memory. The processor is a chip that engines run on, too."""

from __future__ import annotations

import re
from typing import Annotated

from rigright.base.record import dataclass
from rigright.base.units import GIB, MEGA
from rigright.base.words import Sentence, assuming, say, with_commas
from rigright.facts.chips import Chip, class_of, memory_share
from rigright.facts.cpus import CHANNEL_BYTES, VECTOR_FLOPS, vectors

CPU_ID = "cpu-"  # how the id of a processor begins that works as a chip
CPU = "CPU"  # the vendor of a chip that is a processor: engines know them all alike
DESK_LANES, WIDE_SLOT = 28, 16  # a desk processor's lanes at most, and those of its slot for cards
USUAL_BYTES = 64 * GIB
USUAL_MTS = {"DDR3": 1600 * MEGA, "DDR4": 3200 * MEGA, "DDR5": 5600 * MEGA, "LPDDR5X": 7467 * MEGA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    """One socket. None is not known."""

    name: Annotated[str, "family"]
    architecture: str
    segment: str  # "server", "desktop", "mobile"
    cores: int
    base_hz: float
    mem_kind: Annotated[str, "mem_type"]  # "DDR5"
    mem_channels: int
    mem_transfers_per_s: float
    pcie_gen: int
    pcie_lanes: Annotated[int, "pcie_lanes_free"]
    max_sockets: int
    tdp_w: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Socket and memory of a machine; what nobody said is as such machines usually are."""

    cpu: Socket
    sockets: int = 1
    ram_bytes: float = USUAL_BYTES
    ram_kind: str = "DDR5"
    channels: int = 2  # of all sockets, filled
    transfers_per_s: float = USUAL_MTS["DDR5"]
    disk_bytes_per_s: float | None = None
    free_bytes: float | None = None  # that programs could take now, where somebody looked
    assumed: tuple[str, ...] = ()  # fields that nobody said

    @property
    def mem_bytes_per_s(self) -> float:
        """Peak of all channels."""
        return self.channels * self.transfers_per_s * CHANNEL_BYTES

    @property
    def slot_lanes(self) -> int:
        """Lanes that slots for cards share: of a desk processor those of its one wide slot."""
        own = self.cpu.pcie_lanes
        return (own if own > DESK_LANES else min(own, WIDE_SLOT)) * self.sockets

    @property
    def shown(self) -> str:
        """The host for people: "Ryzen 9 7950X, 64 GB DDR5-6000"; a processor nobody named is left out."""
        cpu = f"{self.sockets}x {self.cpu.name}" if self.sockets > 1 else self.cpu.name
        size = f"{_gib(self.ram_bytes)} GB {self.ram_kind}-{self.transfers_per_s / MEGA:.0f}"
        return size if "cpu" in self.assumed else f"{cpu}, {size}"

    @property
    def said(self) -> str:
        """The same as words that mean it again."""
        count = f"{self.sockets}x " if self.sockets > 1 else ""
        kind = f"{self.channels}ch {self.ram_kind.lower()}-{self.transfers_per_s / MEGA:.0f}"
        text = f"{_gib(self.ram_bytes)}gb {kind}"
        return text if "cpu" in self.assumed else f"{count}{self.cpu.name} + {text}"

    @property
    def notes(self) -> tuple[Sentence, ...]:
        """What was taken as usual, in one line."""
        fields: dict[str, str | Sentence] = {
            "cpu": self.cpu.name,
            "ram": f"{_gib(self.ram_bytes)} GB",
            "transfers": f"{self.ram_kind}-{self.transfers_per_s / MEGA:.0f}",
            "channels": say("{count} memory channels", count=self.channels),
        }
        shown = with_commas([words for name, words in fields.items() if name in self.assumed])
        return () if shown is None else (assuming(shown),)


def _gib(size_bytes: float) -> str:
    """A size as people say it: "64", "23.5"."""
    return f"{size_bytes / GIB:.1f}".removesuffix(".0")


def host_chip(host: Host, *, threads: int | None = None) -> Chip:
    """The processor as a chip that engines run on, its memory that of the machine."""
    known = vectors().get(host.cpu.architecture)
    flops_per_cycle = VECTOR_FLOPS if known is None else known.flops_per_cycle
    cores = host.cpu.cores * host.sockets
    cores = cores if threads is None else min(cores, threads)
    flops = cores * host.cpu.base_hz * flops_per_cycle
    share = memory_share(CPU, "soc", mem_bytes=host.ram_bytes)
    name = f"dual {host.cpu.name}" if host.sockets > 1 else host.cpu.name
    architecture = ("two sockets" if host.sockets > 1 else host.cpu.segment) + (
        "" if known is None or known.dot8 else " without VNNI"
    )
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return Chip(
        **dict.fromkeys(_UNTOLD),
        id=f"{CPU_ID}{slug}",
        name=f"{name} ({_gib(host.ram_bytes)} GB {host.ram_kind}-{host.transfers_per_s / MEGA:.0f})",
        vendor=CPU,
        segment="soc",
        architecture=architecture,
        kind=class_of(CPU, architecture, segment="soc"),
        launch="",
        isa="cpu",
        mem_bytes=host.ram_bytes,
        mem_options_bytes=(host.ram_bytes,),
        mem_usable_bytes=host.ram_bytes,
        mem_program_bytes=min(host.ram_bytes * share.program, host.free_bytes or host.ram_bytes),
        mem_estimated=True,
        mem_source=share.why,
        mem_confidence="low",
        mem_type=f"{host.ram_kind}-{host.transfers_per_s / MEGA:.0f}",
        mem_bytes_per_s=host.mem_bytes_per_s,
        ecc=False,
        unified_memory=True,
        devices=1,
        fp32_flops_per_s=flops,
        fp16_flops_per_s=flops,
        fp16_acc32_flops_per_s=flops,
        bf16_flops_per_s=flops,
        int8_ops_per_s=4 * flops,
        sparsity=False,
        sms=cores,
        cores=int(cores * flops_per_cycle / 2),
        pcie_gen=host.cpu.pcie_gen,
        pcie_lanes=host.cpu.pcie_lanes,
        form="SoC",
        tdp_w=host.cpu.tdp_w * host.sockets,
        offered=False,
        pci_ids=(),
        sources=host.cpu.source,
        as_of="2026-11",
        confidence="med",
        notes="",
    )


_UNTOLD = (
    *("bus_bits", "tf32_flops_per_s", "fp8_flops_per_s", "fp8_acc32_flops_per_s", "fp4_flops_per_s"),
    *("l2_bytes", "last_cache_bytes", "tensor_core_gen", "link", "msrp_usd", "msrp_source"),
    *("link_both_ways_bytes_per_s", "link_one_way_bytes_per_s", "link_max_chips"),
    *("slots", "length_m", "power_connectors", "ended", "pci_source"),
)  # fmt: skip
