"""CPUs: cores, memory bandwidth, PCIe lanes left for cards."""

from __future__ import annotations

from rigright.base.page import Shown
from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.facts.cpus import Cpu, cpus
from rigright.verbs.look_up.fields import bandwidth, doubt, figure, memory, provenance, told
from rigright.verbs.look_up.listing import Asked, Kind
from rigright.verbs.look_up.words import doubt_notes, matching, price_date_shown, source_shown, stale_notes


def _find(asked: Asked) -> tuple[Cpu, ...]:
    return matching(
        cpus(), asked.words, text_of=lambda cpu: f"{cpu.id} {cpu.name} {cpu.architecture} {cpu.socket}"
    )


def _notes(asked: Asked, kept: tuple[Cpu, ...]) -> tuple[Shown, ...]:
    dates = {cpu.street_as_of for cpu in kept if cpu.street_as_of}
    told = [
        say("shop prices as of {date}", date=price_date_shown(as_of, asked.today)) for as_of in sorted(dates)
    ]
    return (*told, *stale_notes(dates, asked.today), *doubt_notes(kept))


KIND = Kind(
    summary=say("processors: cores, memory channels, PCIe lanes for cards"),
    title=say("CPUs"),
    fields=(
        told("name", say("CPU"), listed=True, flexible=True),
        doubt(),
        told("socket", say("socket"), listed=True, flexible=True),
        figure("cores", say("cores"), listed=True),
        bandwidth("mem_bytes_per_s", say("memory GB/s"), "bandwidth", "bw", listed=True),
        figure("pcie_gen", say("PCIe"), "pcie", listed=True),
        figure("pcie_lanes_free", say("lanes for cards"), "lanes", listed=True),
        figure("tdp_w", say("power W"), "tdp", "power", listed=True),
        figure("street_price_usd", say("shop price $"), "price", written="{:,.0f}", listed=True),
        told("id", say("id")),
        told("vendor", say("vendor")),
        told("architecture", say("architecture"), "arch"),
        figure("max_sockets", say("sockets on one board"), "sockets"),
        figure("threads", say("threads")),
        figure("base_hz", say("base GHz"), "base", scale=GIGA),
        figure("boost_hz", say("boost GHz"), "boost", scale=GIGA),
        figure("pcie_lanes", say("PCIe lanes in all")),
        figure("mem_channels", say("memory channels"), "channels"),
        told("mem_type", say("memory type")),
        memory("mem_max_bytes", say("most memory GB"), "mem", "memory"),
        told("ecc", say("ECC")),
        figure("list_price_usd", say("list price $"), written="{:,.0f}"),
        told("street_as_of", say("shop price as of")),
        *provenance(),
    ),
    find=_find,
    notes=_notes,
    sources=source_shown,
)
