"""CPUs: cores, memory bandwidth, PCIe lanes left for cards."""

from __future__ import annotations

from rigright.base.page import Shown
from rigright.base.words import say
from rigright.facts.cpus import CpuModel, cpus
from rigright.verbs.look_up.fields import doubt, field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, matching, price_date_shown, source_shown, stale_notes


def _find(asked: LookUpQuery) -> tuple[CpuModel, ...]:
    return matching(
        cpus(), asked.words, text_of=lambda cpu: f"{cpu.id} {cpu.name} {cpu.architecture} {cpu.socket}"
    )


def _notes(asked: LookUpQuery, kept: tuple[CpuModel, ...]) -> tuple[Shown, ...]:
    dates = {cpu.street_as_of for cpu in kept if cpu.street_as_of}
    sentences = [
        say("shop prices as of {date}", date=price_date_shown(as_of, asked.today)) for as_of in sorted(dates)
    ]
    return (*sentences, *stale_notes(dates, asked.today), *doubt_notes(kept))


KIND = ListingKind(
    record=CpuModel,
    summary=say("processors: cores, memory channels, PCIe lanes for cards"),
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
        field("street_price_usd", say("shop price $"), "price", listed=True),
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
        field("ecc", say("ECC")),
        field("list_price_usd", say("list price $")),
        field("street_as_of", say("shop price as of")),
        *provenance(),
    ),
    find=_find,
    notes=_notes,
    sources=source_shown,
)
