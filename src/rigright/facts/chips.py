"""Chips: every accelerator we know, as frozen records in SI units and bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.base.plugins import ADDED, read_facts
from rigright.base.record import dataclass
from rigright.base.tables import DATA, Row, read_rows, scaled, text, whole, yes
from rigright.base.tables import number as figure
from rigright.base.units import GIB, GIGA, KILO, MIB, TERA
from rigright.facts.classes import ChipClass, class_of

_MILLI = 1 / KILO


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

    id: str
    name: str
    vendor: str
    segment: str  # "consumer", "workstation", "datacenter", "embedded", "soc"
    architecture: str
    kind: ChipClass  # chips that reach as much of what is stated
    launch: str  # "2022-10"
    isa: str | None  # compute capability "9.0", or "gfx942", or "metal"
    mem_bytes: float  # as advertised: "80 GB" of a card is 80 GiB
    mem_options_bytes: tuple[float, ...]  # sizes a shared-memory machine is sold with
    mem_usable_bytes: float  # what the driver reports as total
    mem_program_bytes: float  # what a program is handed: the driver's total without its own reserve
    mem_estimated: bool  # the two above are taken from comparable chips, not seen
    mem_source: str
    mem_confidence: str  # of the two above: "high" both seen, "med" one seen, "low" recalled or estimated
    mem_type: str
    bus_bits: int | None
    mem_bytes_per_s: float
    ecc: bool
    unified_memory: bool  # CPU and GPU share it
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
    link_one_way_bytes_per_s: float | None  # what one direction carries: half of it
    link_max_chips: int | None  # how many chips one link domain holds
    pcie_gen: int | None
    pcie_lanes: int | None
    form: str
    slots: float | None
    length_m: float | None
    power_connectors: str | None
    tdp_w: float | None
    ended: str | None  # "2024-11": made no more since, and so bought only used; None: in production
    offered: bool  # False: no shop or cloud of our tables sells it, so it is planned with only where named
    msrp_usd: float | None
    msrp_source: str | None
    pci_ids: tuple[str, ...]  # "10de:2330"
    pci_source: str | None  # where the ids were seen, or that they are recalled
    sources: str
    as_of: str
    confidence: str  # "high", "med", "low"
    notes: str
    cabling: Cabling | None = None  # of a machine somebody named; the table knows none

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """CUDA's compute capability as two numbers, or None where there is none."""
        major, dot, minor = (self.isa or "").partition(".")
        return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None

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


_COLUMNS = {
    "id": ("id", text),
    "name": ("name", text),
    "vendor": ("vendor", text),
    "segment": ("segment", text),
    "architecture": ("architecture", text),
    "launch": ("launch", text),
    "isa": ("isa", text),
    "mem_gib": ("mem_bytes", scaled(GIB)),
    "mem_options_gib": ("mem_options_bytes", lambda cell: tuple(float(size) * GIB for size in cell.split())),
    "mem_driver_mib": ("mem_usable_bytes", scaled(MIB)),
    "mem_program_gib": ("mem_program_bytes", scaled(GIB)),
    "mem_source": ("mem_source", text),
    "mem_confidence": ("mem_confidence", text),
    "mem_type": ("mem_type", text),
    "bus_bits": ("bus_bits", whole),
    "mem_gb_per_s": ("mem_bytes_per_s", scaled(GIGA)),
    "ecc": ("ecc", yes),
    "unified": ("unified_memory", yes),
    "devices": ("devices", whole),
    "fp32_tflops": ("fp32_flops_per_s", scaled(TERA)),
    "fp16_tflops": ("fp16_flops_per_s", scaled(TERA)),
    "fp16_acc32_tflops": ("fp16_acc32_flops_per_s", scaled(TERA)),
    "bf16_tflops": ("bf16_flops_per_s", scaled(TERA)),
    "tf32_tflops": ("tf32_flops_per_s", scaled(TERA)),
    "fp8_tflops": ("fp8_flops_per_s", scaled(TERA)),
    "fp8_acc32_tflops": ("fp8_acc32_flops_per_s", scaled(TERA)),
    "fp4_tflops": ("fp4_flops_per_s", scaled(TERA)),
    "int8_tops": ("int8_ops_per_s", scaled(TERA)),
    "sparsity": ("sparsity", yes),
    "l2_mib": ("l2_bytes", scaled(MIB)),
    "last_cache_mib": ("last_cache_bytes", scaled(MIB)),
    "sms": ("sms", whole),
    "cores": ("cores", whole),
    "tensor_core_gen": ("tensor_core_gen", whole),
    "link": ("link", text),
    "link_both_ways_gb_per_s": ("link_both_ways_bytes_per_s", scaled(GIGA)),
    "link_max_chips": ("link_max_chips", whole),
    "pcie_gen": ("pcie_gen", whole),
    "pcie_lanes": ("pcie_lanes", whole),
    "form": ("form", text),
    "slots": ("slots", figure),
    "length_mm": ("length_m", scaled(_MILLI)),
    "power_connectors": ("power_connectors", text),
    "tdp_w": ("tdp_w", figure),
    "offered": ("offered", yes),
    "msrp_usd": ("msrp_usd", figure),
    "msrp_source": ("msrp_source", text),
    "pci_ids": ("pci_ids", lambda cell: tuple(cell.split())),
    "pci_source": ("pci_source", text),
    "sources": ("sources", text),
    "as_of": ("as_of", text),
    "confidence": ("confidence", text),
    "notes": ("notes", text),
}
_FIELDS = tuple(field for field, _ in _COLUMNS.values())
_READERS = {column: reader for column, (_, reader) in _COLUMNS.items()}
_REQUIRED = (
    *("id", "name", "vendor", "segment", "architecture", "launch", "mem_gib", "mem_type", "mem_gb_per_s"),
    *("ecc", "unified", "devices", "sparsity", "form", "sources", "as_of", "confidence"),
    "mem_confidence",
)


@cache
def chips() -> tuple[Chip, ...]:
    """Every chip of the table, in its order."""
    rows = read_facts("chips.csv", _READERS, required=_REQUIRED, unique=("id", "name", "pci_ids"))
    return tuple(_chip(row) for row in rows)


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
    readers = {"chip": text, "ended": text, "as_of": text, "source": text, "confidence": text}
    rows = read_facts("chip_production.csv", readers, required=("chip", "as_of", "source", "confidence"))
    return {row["chip"]: Production(**row) for row in rows}


def _chip(row: Row) -> Chip:
    fields = dict(zip(_FIELDS, row.values(), strict=True))
    share = memory_share(fields["vendor"], fields["segment"], mem_bytes=fields["mem_bytes"])
    seen = fields["mem_program_bytes"] is not None
    fields["mem_usable_bytes"] = fields["mem_usable_bytes"] or fields["mem_bytes"] * share.driver
    fields["mem_program_bytes"] = fields["mem_program_bytes"] or fields["mem_bytes"] * share.program
    both_ways = fields["link_both_ways_bytes_per_s"]
    made = production().get(fields["id"])
    return Chip(
        **fields
        | {
            "kind": class_of(fields["vendor"], fields["architecture"], segment=fields["segment"]),
            "mem_options_bytes": fields["mem_options_bytes"] or (),
            "mem_estimated": not seen,
            "mem_source": fields["mem_source"] or share.why,
            "link_one_way_bytes_per_s": both_ways / 2 if both_ways else None,
            "pci_ids": fields["pci_ids"] or (),
            "ended": None if made is None else made.ended,
            "offered": fields["offered"] is not False,
            "notes": fields["notes"] or "",
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryShare:
    """How much of the advertised memory drivers and programs see on chips nobody has shown us."""

    vendor: str | None
    segment: str | None
    max_bytes: float | None
    driver: float
    program: float
    why: str


@cache
def _memory_shares() -> tuple[MemoryShare, ...]:
    readers = {
        "vendor": text,
        "segment": text,
        "max_gib": scaled(GIB),
        "driver_share": figure,
        "program_share": figure,
        "why": text,
    }
    names = {"max_gib": "max_bytes", "driver_share": "driver", "program_share": "program"}
    rows = read_rows(DATA / "chip_memory.csv", readers, required=("driver_share", "program_share", "why"))
    return tuple(
        MemoryShare(**{names.get(column, column): row[column] for column in readers}) for row in rows
    )


def memory_share(vendor: str, segment: str, *, mem_bytes: float) -> MemoryShare:
    """The first row of the table that fits this kind of chip; the last fits all."""
    return next(
        share
        for share in _memory_shares()
        if share.vendor in {None, vendor}
        and share.segment in {None, segment}
        and (share.max_bytes is None or mem_bytes <= share.max_bytes)
    )


_MAKER = re.compile(r"\b(?:GeForce|Radeon|Apple|NVIDIA|AMD|Intel) (?=[A-Z0-9])")


def short(name: str) -> str:
    """Cards as people call them: "2x RTX 5090"."""
    return _MAKER.sub("", name)
