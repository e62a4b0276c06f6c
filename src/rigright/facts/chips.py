"""Chips: every accelerator we know, and what their architectures can do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from rigright.base.loader import Columns, records
from rigright.base.plugins import ADDED, read_facts
from rigright.base.record import dataclass

ALONE = 0  # a program that sees one such device sees no other
UNKNOWN = 0.0  # of a size that the table does not hold


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipClass:
    """Chips alike; an empty cell of the table fits all."""

    vendor: str | None
    architecture: str | None
    segment: str | None
    id: Annotated[str, "class"]
    kin: str  # the wider class it belongs to


UNCLASSED = ChipClass(vendor=None, architecture=None, segment=None, id="other", kin="other")


@cache
def classes() -> tuple[ChipClass, ...]:
    """Every class, in the order they are tried."""
    return records("chip_classes.csv", ChipClass)


@cache
def class_of(vendor: str, architecture: str, *, segment: str) -> ChipClass:
    """The first class such chips are of; the last holds all."""
    return next(
        chip_class
        for chip_class in classes()
        if chip_class.vendor in {None, vendor}
        and chip_class.architecture in {None, architecture}
        and chip_class.segment in {None, segment}
    )


def kin_of(name: str) -> str:
    """The kin of a class, by its name; a class that no table knows is its own."""
    return _kins().get(name, name)


@cache
def _kins() -> Mapping[str, str]:
    return {chip_class.id: chip_class.kin for chip_class in reversed(classes())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cabling:
    """What somebody states of a card's links, where it is not as such cards usually stand."""

    bridged: bool | None  # None: nothing is said, or the chip takes no bridge
    network: str | None  # id of a network
    network_chips: float  # cards that share a port of it
    shown: str  # "NVLink", "PCIe 4.0 x8, Ethernet 10G"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One accelerator. Rates are dense; None is unknown or not there."""

    PRINTED_AS = "id"

    id: str
    name: str
    vendor: str
    segment: str  # "consumer", "workstation", "datacenter", "embedded", "soc"
    architecture: str
    kind: ChipClass = UNCLASSED  # chips that reach as much of what is stated
    launch: str = ""  # "2022-10"; "": announced, not sold yet
    isa: str | None  # compute capability "9.0", or "gfx942", or "metal"
    mem_bytes: float  # as advertised: "80 GB" of a card is 80 GiB
    mem_options_bytes: tuple[float, ...] = ()  # sizes a shared-memory machine is sold with
    mem_usable_bytes: Annotated[float, "mem_driver_mib"] = UNKNOWN  # what the driver reports as total
    mem_program_bytes: float = UNKNOWN  # what a program is handed: the driver's total without its own reserve
    mem_estimated: bool = False  # the two above are taken from comparable chips, not seen
    mem_source: str = ""
    mem_confidence: str  # of the two above: "high" both seen, "med" one seen, "low" recalled or estimated
    mem_type: str
    bus_bits: int | None
    mem_bytes_per_s: float
    ecc: bool
    unified_memory: Annotated[bool, "unified"]  # CPU and GPU share it
    devices: int  # how many devices a driver shows for one chip (MI250X: 2, half the memory each)
    fp32_flops_per_s: float | None
    fp16_flops_per_s: float | None  # fastest fp16 rate: GeForce reaches it only when accumulating in fp16
    fp16_acc32_flops_per_s: float | None  # accumulating in fp32, as PyTorch does
    bf16_flops_per_s: float | None
    tf32_flops_per_s: float | None
    fp8_flops_per_s: float | None
    fp8_acc32_flops_per_s: float | None
    fp4_flops_per_s: float | None
    int8_ops_per_s: float | None
    sparsity: bool  # 2:4 structured sparsity doubles the rates above
    l2_bytes: float | None
    last_cache_bytes: float | None  # AMD's Infinity Cache
    sms: int | None  # SMs, CUs, cores: what the vendor counts
    cores: int | None
    tensor_core_gen: int | None
    link: str | None  # the direct link between chips, as named by the vendor
    link_both_ways_bytes_per_s: float | None  # vendors' figure: all links, both directions added
    link_one_way_bytes_per_s: float | None = None  # what one direction carries: half of it
    link_max_chips: int | None  # how many chips one link domain holds; ALONE: of an instance of MIG
    pcie_gen: int | None
    pcie_lanes: int | None
    form: str
    slots: float | None
    length_m: float | None
    power_connectors: str | None
    tdp_w: float | None
    ended: str | None = None  # "2024-11": made no more since, and so bought only used; None: in production
    offered: bool = (
        True  # False: no shop or cloud of our tables sells it, so it is planned with only where named
    )
    msrp_usd: float | None
    msrp_source: str | None
    pci_ids: tuple[str, ...] = ()  # "10de:2330"
    pci_source: str | None  # where the ids were seen, or that they are recalled
    sources: str
    as_of: str
    confidence: str  # "high", "med", "low"
    notes: str = ""
    cabling: Cabling | None = None  # of a machine somebody named; the table knows none

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """CUDA's compute capability as two numbers, or None where there is none."""
        major, dot, minor = (self.isa or "").partition(".")
        return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None

    @property
    def is_instance(self) -> bool:
        """Whether it is an instance that MIG cut out of a GPU: no model is split over several."""
        return self.link_max_chips == ALONE

    @property
    def is_announced(self) -> bool:
        """Whether its maker announced it and nobody sells it yet."""
        return not self.launch

    @property
    def is_added(self) -> bool:
        """Whether a plugin brings it."""
        return self.sources.startswith(ADDED)

    @property
    def training_flops_per_s(self) -> float | None:
        """The 16-bit rate ordinary training and inference reach: bf16, else fp16 accumulating in fp32."""
        return self.bf16_flops_per_s or self.fp16_acc32_flops_per_s

    @property
    def plain_flops_per_s(self) -> float | None:
        """The rate of 16-bit numbers as libraries multiply them: in 32 bit where a chip is faster so."""
        stated = self.training_flops_per_s or self.fp16_flops_per_s
        return None if stated is None else max(stated, self.fp32_flops_per_s or 0.0)

    @property
    def around(self) -> str | None:
        """The kind of host that cards of it stand in; None where it is sold as a whole machine."""
        if self.form in {"SoC", "soldered", "cloud only"}:
            return None
        if self.form == "module/SoC":
            return "kit" if self.segment == "embedded" else None
        if self.form == "superchip":
            return "superchip"
        if self.form.startswith("PCIe"):
            return "server" if self.segment == "datacenter" and not self.ended else "desktop"
        return "used-baseboard" if self.ended else "baseboard"

    def terms_in(self, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Its fitted terms: its own before its class's, its class's before its kin's, then everybody's."""
        merged: dict[str, Any] = {}
        for key in ("all", self.kind.kin, self.kind.id, self.id):
            merged.update(tables.get(key, {}))
        return merged


@cache
def chips() -> tuple[Chip, ...]:
    """Every chip of the table, in its order."""
    return read_facts("chips.csv", Chip, derive=_derived, unique=("id", "name", "pci_ids"))


@cache
def by_id() -> dict[str, Chip]:
    """Every chip under its id."""
    return {chip.id: chip for chip in chips()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """Whether a chip is made."""

    chip: str
    ended: str | None  # "2024-11"; None: in production
    as_of: str
    source: str
    confidence: str


@cache
def production() -> dict[str, Production]:
    """The state of every chip, under its id."""
    return {read_fact.chip: read_fact for read_fact in read_facts("chip_production.csv", Production)}


def _derived(read: Columns) -> Columns:
    """What rows leave to others: the class of a chip, shares of its memory, whether it is made."""
    made, kinds = production(), zip(read["vendor"], read["architecture"], read["segment"], strict=True)
    both_ways = read["link_both_ways_bytes_per_s"]
    groups: dict[str, list[Any]] = {
        "kind": [class_of(vendor, architecture, segment=segment) for vendor, architecture, segment in kinds],
        "ended": [made[chip].ended if chip in made else None for chip in read["id"]],
        "link_one_way_bytes_per_s": [rate / 2 if rate else None for rate in both_ways],
        "mem_estimated": [not known for known in read["mem_program_bytes"]],
    }
    row = ("mem_usable_bytes", "mem_program_bytes", "mem_source")
    groups |= {name: list(read[name]) for name in row}
    for place, known in enumerate(zip(*(read[name] for name in row), strict=True)):
        if not all(known):
            size = read["mem_bytes"][place]
            share = memory_share(read["vendor"][place], read["segment"][place], mem_bytes=size)
            shared = (size * share.driver, size * share.program, share.why)
            for name, value, other in zip(row, known, shared, strict=True):
                groups[name][place] = value or other
    return {**groups}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryShare:
    """How much of the advertised memory drivers and programs see on chips nobody has shown us."""

    vendor: str | None
    segment: str | None
    max_bytes: float | None
    driver: Annotated[float, "driver_share"]
    program: Annotated[float, "program_share"]
    why: str


@cache
def _memory_shares() -> tuple[MemoryShare, ...]:
    return records("chip_memory.csv", MemoryShare)


def memory_share(vendor: str, segment: str, *, mem_bytes: float) -> MemoryShare:
    """The first row of the table that fits this kind of chip; the last fits all."""
    return next(
        share
        for share in _memory_shares()
        if share.vendor in {None, vendor}
        and share.segment in {None, segment}
        and (share.max_bytes is None or mem_bytes <= share.max_bytes)
    )


_MAKER = re.compile(r"\b(?:GeForce|Radeon|Apple|NVIDIA|AMD|Intel) (?=[A-Z0-9])(?!(?:Pro )?VII\b)")


def short(name: str) -> str:
    """Cards as people call them: "2x RTX 5090"."""
    return _MAKER.sub("", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """One architecture. Number formats: "y", "n", or how far."""

    architecture: str
    isa: tuple[str, ...] = ()  # "8.6", "gfx942"
    matrix_unit: str | None
    fp16: str
    bf16: str
    tf32: str
    fp8: str
    fp4: str
    int8: str
    int4: str
    sparsity: str
    flash_attention: str
    link: str
    examples: str
    stack: str
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def is_ended(self) -> bool:
        """Whether new software knows it no more: `stack` then is the last that did."""
        return self.stack[0].isdigit() or self.stack.endswith("(last)")


@cache
def features() -> tuple[Features, ...]:
    """Every architecture of the table, in its order."""
    return records("features.csv", Features)


def features_of(isa: str | None) -> Features | None:
    """The architecture of a compute capability or gfx name."""
    return next((feature for feature in features() if isa is not None and isa in feature.isa), None)
