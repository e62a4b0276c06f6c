"""Chips: accelerators with memory, bandwidth, dense rates, links, power, sources."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.units import GIB, MIB
from rigright.base.words import Sentence, say
from rigright.facts.chips import Chip, chips
from rigright.facts.find import find_chips, match_chip
from rigright.facts.naming import read_tokens
from rigright.verbs.look_up.fields import doubt, field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, source_shown, with_words


def _find(asked: LookUpQuery) -> tuple[Chip, ...]:
    """All, or every chip the words could mean; the one they mean alone with the memory they name."""
    if not asked.words:
        return chips()
    text = " ".join(asked.words)
    try:
        result = find_chips(text)
    except AskError:
        words = [word if word.isascii() else _english(word) for word in text.split()]
        result = with_words(chips(), " ".join(words), texts=_chip_words)
        if not result or not any(words):
            raise
        return result
    return (match_chip(text).chip,) if len(result) == 1 else result


def _english(word: str) -> str:
    """A maker or a kind of card as tables call it: "昇腾" is ascend."""
    return " ".join(token.text for token in read_tokens(word))


def _chip_words(chip: Chip) -> str:
    """What a chip is and has, in words; notes say what it lacks, too."""
    texts = [chip.vendor, chip.name, chip.architecture, chip.segment, chip.form, chip.mem_type]
    return " ".join(filter(None, (*texts, chip.link, chip.isa)))


def _named(asked: LookUpQuery) -> Chip | None:
    """The chip a name means, where it says more than a maker or a size."""
    text = " ".join(asked.words)
    try:
        says_more = any(token.kind == "word" for token in read_tokens(text))
        return match_chip(text).chip if says_more else None
    except AskError:
        return None


def _seen(confidence: str) -> Sentence:
    """How far the figures of a chip's memory were seen."""
    return {"high": say("seen"), "med": say("partly verified")}.get(confidence, say("not verified"))


_LISTED = (
    field("name", say("chip"), listed=True, flexible=True),
    doubt(),
    field("mem_bytes", say("memory GB"), "mem", "memory", listed=True),
    field("mem_bytes_per_s", say("bandwidth GB/s"), "bandwidth", "bw", listed=True),
    field("training_flops_per_s", say("16-bit TFLOP/s"), "tflops", "flops", listed=True),
    field("fp8_acc32_flops_per_s", say("FP8 TFLOP/s"), "fp8", "fp8_acc32", listed=True),
    field("tdp_w", say("power W"), "tdp", "power", "watts", listed=True),
    field("launch", say("launch"), "since", "year", listed=True),
)
_MEMORY = (
    field(
        "mem_usable_bytes", say("memory reported by the driver"), show=lambda size: f"{size / MIB:,.0f} MiB"
    ),
    field(
        "mem_program_bytes", say("memory available to programs"), show=lambda size: f"{size / GIB:.2f} GiB"
    ),
    field("mem_confidence", say("these two are"), show=_seen),
    field("mem_source", say("source of these two"), flexible=True),
    field("mem_estimated", say("estimated from comparable chips")),
    field("mem_type", say("memory type"), "type"),
    field("bus_bits", say("memory bus, bits"), "bus"),
    field("mem_options_bytes", say("sold with GB")),
    field("unified_memory", say("memory shared with the CPU")),
    field("ecc", say("ECC")),
)
_RATES = (
    field("fp32_flops_per_s", say("FP32 TFLOP/s"), "fp32"),
    field("tf32_flops_per_s", say("TF32 TFLOP/s dense"), "tf32"),
    field("bf16_flops_per_s", say("BF16 TFLOP/s dense"), "bf16"),
    field("fp16_acc32_flops_per_s", say("FP16 TFLOP/s dense, FP32 accumulate"), "fp16_acc32"),
    field("fp16_flops_per_s", say("FP16 TFLOP/s dense, fastest"), "fp16"),
    field("fp8_flops_per_s", say("FP8 TFLOP/s dense, fastest"), "fp8_fastest"),
    field("fp4_flops_per_s", say("FP4 TFLOP/s dense"), "fp4"),
    field("int8_ops_per_s", say("INT8 TOP/s dense"), "int8"),
    field("sparsity", say("2:4 sparsity doubles these")),
    field("sms", say("SMs or CUs")),
    field("cores", say("cores")),
)
_BODY = (
    field("id", say("id")),
    field("vendor", say("vendor")),
    field("segment", say("segment")),
    field("architecture", say("architecture"), "arch"),
    field("isa", say("compute capability"), "cc"),
    field("link", say("link between chips")),
    field("link_one_way_bytes_per_s", say("link GB/s, per direction")),
    field("link_both_ways_bytes_per_s", say("link GB/s, both directions")),
    field("link_max_chips", say("GPUs per link domain")),
    field("pcie_gen", say("PCIe generation"), "pcie"),
    field("pcie_lanes", say("PCIe lanes")),
    field("form", say("form")),
    field("slots", say("slots")),
    field("length_m", say("length mm"), "length"),
    field("power_connectors", say("power connectors")),
    field("msrp_usd", say("launch price $"), "msrp"),
    field("devices", say("devices shown by the driver")),
    field("pci_ids", say("PCI ids")),
    field("pci_source", say("source of PCI IDs"), flexible=True),
)


KIND = ListingKind(
    record=Chip,
    summary=say("accelerators: memory, bandwidth, dense rates, links, power"),
    title=say("Chips"),
    fields=(*_LISTED, *_MEMORY, *_RATES, *_BODY, *provenance()),
    find=_find,
    named=_named,
    notes=lambda _asked, kept: (
        say("dense rates with FP32 accumulation, as PyTorch uses; 16-bit: bf16, or fp16 where there is none"),
        *doubt_notes(kept),
    ),
    sources=source_shown,
    searched=False,
)
