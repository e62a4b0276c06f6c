"""Hardware: accelerators and their architectures, CPUs, platforms, and what healthy machines reach."""

from __future__ import annotations

import re

from rigright.base.errors import AskError
from rigright.base.page import Shown
from rigright.base.units import GIB, MIB
from rigright.base.words import Sentence, say, worded
from rigright.facts.bench import Reference, references
from rigright.facts.chips import Chip, Features, chips, features
from rigright.facts.cpus import CpuModel, cpus
from rigright.facts.find import find_chips, match_chip
from rigright.facts.naming import read_tokens
from rigright.facts.parts import Platform, platforms
from rigright.verbs.look_up.filters import by_words, with_words
from rigright.verbs.look_up.listing import (
    ListingKind,
    LookUpQuery,
    doubt,
    field,
    price_date_shown,
    provenance,
    stale_notes,
    yes_no,
)

_SERIES = re.compile(  # "rtx 40", "50 series", "40系", "rx 7000"
    r"(?i)\s*(?:(?:geforce|radeon)\s*)?(?:(?P<brand>rtx|gtx)\s*(?P<first>\d\d)(?:\s*(?:series|系列|系))?"
    r"|(?P<tens>\d\d)(?:xx)?\s*(?:series|系列|系)|rx\s*(?P<rx>\d)(?:000|xxx)(?:\s*(?:series|系列|系))?)\s*"
)


def _find_chips(asked: LookUpQuery) -> tuple[Chip, ...]:
    """Every chip the words could mean; the one they mean alone with the memory they name."""
    text = asked.text
    series = _SERIES.fullmatch(text)
    if series is not None:
        brand, first = series["brand"] or "(?:RTX|GTX)", series["first"] or series["tens"]
        begun = rf"{brand} {first}" if series["rx"] is None else rf"RX {series['rx']}\d"
        named = re.compile(rf"(?i)\b{begun}\d\d(?!\d)")
        if members := tuple(chip for chip in chips() if named.search(chip.name)):
            return members
    try:
        result = find_chips(text)
    except AskError:
        own = (
            [word] if word.isascii() else [item.text for item in read_tokens(word)] for word in text.split()
        )
        words = [word for each in own for word in each]  # "昇腾" is ascend
        result = with_words(chips(), " ".join(words), texts=_chip_words)
        if not result or not any(words):
            raise
        return result
    return (match_chip(text).chip,) if len(result) == 1 else result


def _chip_words(chip: Chip) -> str:
    """What a chip is and has, in words; notes say what it lacks, too."""
    texts = [chip.vendor, chip.name, chip.architecture, chip.segment, chip.form, chip.mem_type]
    return " ".join(filter(None, (*texts, chip.link, chip.isa)))


def _named_chip(asked: LookUpQuery) -> Chip | None:
    """The chip a name means, where it says more than a maker or a size."""
    text = asked.text
    try:
        says_more = any(token.kind == "word" for token in read_tokens(text))
        return match_chip(text).chip if says_more else None
    except AskError:
        return None


def _yes(value: object) -> Sentence | str:
    """Whether it is there, as tables write it."""
    return yes_no(value) if isinstance(value, bool) else worded("fault")(str(value))


def _seen(confidence: str) -> Sentence:
    """How far the figures of a chip's memory were seen."""
    return {"high": say("measured on machines"), "med": say("partly verified")}.get(
        confidence, say("not verified")
    )


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
    field("mem_confidence", say("the two figures above"), show=_seen),
    field("mem_source", say("source of these figures"), flexible=True),
    field("mem_estimated", say("estimated from similar chips")),
    field("mem_type", say("memory type"), "type", show=worded("memory")),
    field("bus_bits", say("memory bus, bits"), "bus"),
    field("mem_options_bytes", say("sold with GB")),
    field("unified_memory", say("memory shared with the CPU")),
    field("ecc", say("ECC"), show=_yes),
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
    field("segment", say("segment"), show=worded("segment")),
    field("architecture", say("architecture"), "arch"),
    field("isa", say("compute capability"), "cc"),
    field("link", say("link between chips")),
    field("link_one_way_bytes_per_s", say("link GB/s, per direction")),
    field("link_both_ways_bytes_per_s", say("link GB/s, both directions")),
    field("link_max_chips", say("GPUs per link domain")),
    field("pcie_gen", say("PCIe generation"), "pcie"),
    field("pcie_lanes", say("PCIe lanes")),
    field("form", say("form"), show=worded("form")),
    field("slots", say("slots")),
    field("length_m", say("length mm"), "length"),
    field("power_connectors", say("power connectors")),
    field("msrp_usd", say("launch price {sign}", sign="$"), "msrp"),
    field("devices", say("devices shown by the driver")),
    field("pci_ids", say("PCI ids")),
    field("pci_source", say("source of PCI IDs"), flexible=True),
)


CHIPS = ListingKind(
    record=Chip,
    title=say("Chips"),
    fields=(*_LISTED, *_MEMORY, *_RATES, *_BODY, *provenance()),
    records=lambda _: chips(),
    find=_find_chips,
    named=_named_chip,
    notes=lambda _asked, _kept: (
        say("dense rates with FP32 accumulation, as PyTorch uses; 16-bit: bf16, or fp16 where there is none"),
    ),
    searched=False,
)


ARCHITECTURES = ListingKind(
    record=Features,
    title=say("Chip architectures"),
    fields=(
        field("architecture", say("architecture"), "arch", listed=True, flexible=True),
        doubt(),
        field("isa", say("compute capability"), show=" ".join, listed=True, flexible=True),
        field("bf16", say("BF16"), show=worded("feature"), listed=True, flexible=True),
        field("fp8", say("FP8"), show=worded("feature"), listed=True, flexible=True),
        field("fp4", say("FP4"), show=worded("feature"), listed=True, flexible=True),
        field("flash_attention", say("flash attention"), show=worded("feature"), listed=True, flexible=True),
        field("fp16", say("FP16"), show=worded("feature")),
        field("tf32", say("TF32"), show=worded("feature")),
        field("int8", say("INT8"), show=worded("feature")),
        field("int4", say("INT4"), show=worded("feature")),
        field("sparsity", say("sparsity"), show=worded("feature")),
        field("matrix_unit", say("matrix unit"), show=worded("feature")),
        field("link", say("link between chips"), show=worded("feature")),
        field("examples", say("such as")),
        field("stack", say("last CUDA, or software")),
        *provenance(),
    ),
    records=lambda _: features(),
    find=by_words(features, "architecture", "isa", "examples"),
)


def _cpu_notes(asked: LookUpQuery, kept: tuple[CpuModel, ...]) -> tuple[Shown, ...]:
    dates = {cpu.street_as_of for cpu in kept if cpu.street_as_of}
    sentences = [
        say("shop prices as of {date}", date=price_date_shown(as_of, asked.today)) for as_of in sorted(dates)
    ]
    return (*sentences, *stale_notes(dates, asked.today))


CPUS = ListingKind(
    record=CpuModel,
    title=say("CPUs"),
    fields=(
        field("name", say("CPU"), listed=True, flexible=True),
        doubt(),
        field("socket", say("socket"), listed=True, flexible=True),
        field("cores", say("cores"), listed=True),
        field("mem_bytes_per_s", say("memory GB/s"), "bandwidth", "bw", listed=True),
        field("pcie_gen", say("PCIe"), "pcie", listed=True),
        field("pcie_lanes_free", say("lanes for cards"), "lanes", listed=True),
        field("tdp_w", say("power W"), "tdp", "power", listed=True),
        field("street_price_usd", say("shop price {sign}", sign="$"), "price", listed=True),
        field("id", say("id")),
        field("vendor", say("vendor")),
        field("architecture", say("architecture"), "arch"),
        field("max_sockets", say("sockets on one board"), "sockets"),
        field("threads", say("threads")),
        field("base_hz", say("base GHz"), "base"),
        field("boost_hz", say("boost GHz"), "boost"),
        field("pcie_lanes", say("PCIe lanes in all")),
        field("mem_channels", say("memory channels"), "channels"),
        field("mem_type", say("memory type")),
        field("mem_max_bytes", say("max. memory GB"), "mem", "memory"),
        field("ecc", say("ECC"), show=_yes),
        field("list_price_usd", say("list price {sign}", sign="$")),
        field("street_as_of", say("shop price as of")),
        *provenance(),
    ),
    records=lambda _: cpus(),
    find=by_words(cpus, "id", "name", "architecture", "socket"),
    notes=_cpu_notes,
)


PLATFORMS = ListingKind(
    record=Platform,
    title=say("Platforms"),
    fields=(
        field("name", say("platform"), listed=True, flexible=True),
        doubt(),
        field("socket", say("socket"), listed=True, flexible=True),
        field("gpus", say("two-slot cards"), listed=True, right=True),
        field("lanes", say("lanes for cards"), show=worded("lanes"), listed=True, flexible=True),
        field("mem_max_bytes", say("max. memory GB"), "mem", "memory", listed=True),
        field("price_usd", say("price $"), listed=True, right=True),
        field("id", say("id")),
        field("kind", say("kind"), show=worded("board")),
        field("gpus_max", say("max. cards")),
        field("slots", say("slots")),
        field("mem_slots", say("memory slots")),
        field("psu_count", say("power supplies")),
        field("psu_w", say("W each")),
        field("system_w", say("whole machine W"), "power"),
        field("psu_redundancy", say("spare power supplies")),
        *provenance(),
    ),
    records=lambda _: platforms(),
    find=by_words(platforms, "id", "name", "socket", "kind"),
)


_EVIDENCE = {"measured": say("measured"), "least": say("minimum accepted"), "claim": say("a claim")}


BENCHMARKS = ListingKind(
    record=Reference,
    title=say("Benchmark reference values"),
    fields=(
        field("what", say("benchmark"), listed=True, flexible=True),
        doubt(),
        field("on", say("ran on"), listed=True, flexible=True),
        field("said", say("figure"), listed=True),
        field("kind", say("kind"), show=lambda kind: _EVIDENCE.get(kind, say("unknown")), listed=True),
        field("chip", say("id")),
        field("n_chips", say("chips")),
        field("value", say("value, SI")),
        field("unit", say("unit")),
        *provenance(),
    ),
    records=lambda _: references(),
    find=by_words(references, "what", "on", "chip"),
)
