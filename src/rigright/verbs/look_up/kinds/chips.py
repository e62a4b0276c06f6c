"""Chips: accelerators with memory, bandwidth, dense rates, links, power, sources."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.units import GIB, KILO, MIB, TERA
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip, chips
from rigright.facts.find import find_chips, match_chip
from rigright.facts.naming import read_tokens
from rigright.verbs.look_up.fields import bandwidth, doubt, figure, memory, moment, provenance, told, yes_no
from rigright.verbs.look_up.listing import Asked, Field, Kind
from rigright.verbs.look_up.words import doubt_notes, source_shown


def _find(asked: Asked) -> tuple[Chip, ...]:
    """All, or every chip the words could mean; the one they mean alone with the memory they name."""
    if not asked.words:
        return chips()
    text = " ".join(asked.words)
    try:
        found = find_chips(text)
    except AskError:
        words = [token.text for token in read_tokens(text)]
        told = [f"{chip.vendor} {chip.name} {chip.architecture} {chip.notes}".casefold() for chip in chips()]
        found = tuple(
            chip for chip, said in zip(chips(), told, strict=True) if all(word in said for word in words)
        )
        if not found or not words:
            raise
        return found
    return (match_chip(text).chip,) if len(found) == 1 else found


def _named(asked: Asked) -> Chip | None:
    """The chip a name means, where it says more than a maker or a size."""
    text = " ".join(asked.words)
    try:
        says_more = any(token.kind == "word" for token in read_tokens(text))
        return match_chip(text).chip if says_more else None
    except AskError:
        return None


def _seen(confidence: str) -> Sentence:
    """How far the figures of a chip's memory were seen."""
    return {"high": say("seen"), "med": say("seen in part")}.get(confidence, say("not confirmed"))


_LISTED = (
    told("name", say("chip"), listed=True, flexible=True),
    doubt(),
    memory("mem_bytes", say("memory GB"), "mem", "memory", listed=True),
    bandwidth("mem_bytes_per_s", say("bandwidth GB/s"), "bandwidth", "bw", listed=True),
    figure("training_flops_per_s", say("16-bit TFLOP/s"), "tflops", "flops", scale=TERA, listed=True),
    figure("fp8_flops_per_s", say("FP8 TFLOP/s"), "fp8", scale=TERA, listed=True),
    figure("tdp_w", say("power W"), "tdp", "power", "watts", listed=True),
    moment("launch", say("launch"), "since", "year"),
)
_MEMORY = (
    memory("mem_usable_bytes", say("memory the driver reports"), show=lambda size: f"{size / MIB:,.0f} MiB"),
    memory("mem_program_bytes", say("memory a program gets"), show=lambda size: f"{size / GIB:.2f} GiB"),
    Field(
        key="mem_confidence",
        head=say("these two are"),
        read=lambda chip: chip.mem_confidence,
        show=_seen,
        detail=True,
    ),
    told("mem_source", say("these two from"), flexible=True),
    yes_no("mem_estimated", say("estimated from comparable chips")),
    told("mem_type", say("memory type"), "type"),
    figure("bus_bits", say("memory bus, bits"), "bus"),
    Field(
        key="mem_options_bytes",
        head=say("sold with GB"),
        read=lambda chip: list(chip.mem_options_bytes) or None,
        show=lambda sizes: ", ".join(f"{size / GIB:g}" for size in sizes),
        detail=True,
    ),
    yes_no("unified_memory", say("memory shared with the CPU")),
    yes_no("ecc", say("ECC")),
)
_RATES = (
    figure("fp32_flops_per_s", say("FP32 TFLOP/s"), "fp32", scale=TERA),
    figure("tf32_flops_per_s", say("TF32 TFLOP/s dense"), "tf32", scale=TERA),
    figure("bf16_flops_per_s", say("BF16 TFLOP/s dense"), "bf16", scale=TERA),
    figure("fp16_acc32_flops_per_s", say("FP16 TFLOP/s dense, summed in FP32"), "fp16_acc32", scale=TERA),
    figure("fp16_flops_per_s", say("FP16 TFLOP/s dense, fastest"), "fp16", scale=TERA),
    figure("fp8_acc32_flops_per_s", say("FP8 TFLOP/s dense, summed in FP32"), "fp8_acc32", scale=TERA),
    figure("fp4_flops_per_s", say("FP4 TFLOP/s dense"), "fp4", scale=TERA),
    figure("int8_ops_per_s", say("INT8 TOP/s dense"), "int8", scale=TERA),
    yes_no("sparsity", say("2:4 sparsity doubles these")),
    figure("sms", say("SMs or CUs")),
    figure("cores", say("cores"), written="{:,.0f}"),
)
_BODY = (
    told("id", say("id")),
    told("vendor", say("vendor")),
    told("segment", say("segment")),
    told("architecture", say("architecture"), "arch"),
    told("isa", say("compute capability"), "cc"),
    told("link", say("link between chips")),
    bandwidth("link_one_way_bytes_per_s", say("link GB/s, one way")),
    bandwidth("link_both_ways_bytes_per_s", say("link GB/s, both ways added")),
    figure("link_max_chips", say("chips in one link domain")),
    figure("pcie_gen", say("PCIe generation"), "pcie"),
    figure("pcie_lanes", say("PCIe lanes")),
    told("form", say("form")),
    figure("slots", say("slots")),
    figure("length_m", say("length mm"), "length", scale=1 / KILO),
    told("power_connectors", say("power connectors")),
    figure("msrp_usd", say("launch price $"), "msrp", written="{:,.0f}"),
    figure("devices", say("devices a driver shows")),
    Field(
        key="pci_ids",
        head=say("PCI ids"),
        read=lambda chip: list(chip.pci_ids) or None,
        show=", ".join,
        detail=True,
    ),
    told("pci_source", say("PCI ids from"), flexible=True),
)


KIND = Kind(
    summary=say("accelerators: memory, bandwidth, dense rates, links, power"),
    title=say("Chips"),
    fields=(*_LISTED, *_MEMORY, *_RATES, *_BODY, *provenance()),
    find=_find,
    named=_named,
    notes=lambda _asked, kept: (
        say("rates are dense; 16-bit is what PyTorch reaches: bf16, or fp16 summed in fp32"),
        *doubt_notes(kept),
    ),
    sources=source_shown,
)
