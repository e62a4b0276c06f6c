"""Fabrics: what joins a chip to others in its domain, in its box and beyond: links, PCIe, networks, cables.

Rates are as vendors state them. Cabling is what somebody says beside the cards: an NVLink bridge, narrow
slots, a network between machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from operator import attrgetter

from rigright.base.errors import AskError
from rigright.base.everyday import words_of
from rigright.base.loader import records, rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.units import GIGA
from rigright.base.words import Sentence, say
from rigright.facts.chips import Cabling, Chip

BOX_CHIPS = 8  # cards of a box where no fabric says
PCIE_GEN, PCIE_LANES = 4, 16  # of a slot where the chip does not say
BITS = 8
# transfers a second and lane, and payload bits of the bits sent: PCI Express base specifications 1.0 to 6.0
_GENERATIONS = {
    1: (2.5 * GIGA, 8 / 10),
    2: (5 * GIGA, 8 / 10),
    3: (8 * GIGA, 128 / 130),
    4: (16 * GIGA, 128 / 130),
    5: (32 * GIGA, 128 / 130),
    6: (64 * GIGA, 236 / 256),
}
_NEAR = 0.25  # of a link: rates are rounded by vendors, and newer generations run a little faster
_NO = r"(?:(?:no|without(?:\s+an?)?|w/o|无|没有|不带|不用)\s*)"
_NVLINK = pattern(
    rf"(?:\b(?:with|via|over|and)\s+)?(?P<no>{_NO})?(?:\ban?\s+)?(?<![a-z])nv-?link(?:\s*[1-5](?:\.0)?\b)?(?!-?c2c)"
    r"(?:[\s-]*(?:bridges?|bridged|pairs?|connected|桥接器|桥接|桥))?",
    re.IGNORECASE,
)
_SLOT = pattern(
    r"(?:\b(?:in|on|at)\s+)?pcie?[\s-]*(?:gen\s*)?(?P<gen>[3-6])(?:\.0)?(?![\d.])(?:\s*[x×]\s*(?P<wide>16|8|4|1)\b)?"
    r"|(?:\b(?:in|on|at)\s+)?(?<!\w)[x×](?P<lanes>16|8|4|1)\s*(?:pcie\s*)?(?:slots?|lanes?|插槽|通道)",
    re.IGNORECASE,
)
_CABLES = (
    "link",
    "pci",
    "x",
    "×",
    "g",
    "ib",
    "dr",
    "thunderbolt",
    "雷电",
)  # one is in all that speaks of them
_COUNTED = pattern(r"\s*\d{1,3}\s*[x×*]", re.IGNORECASE)
_LAST = pattern(r"\s[x×](?P<lanes>16|8|4)\s*\Z", re.IGNORECASE)
_NETWORK = pattern(
    r"(?:\b(?:with|over|via|on)\s+)?(?:"
    r"(?P<eth>\d{1,3}(?:\.5)?)\s*(?:gbe\b|g(?:b(?:it)?)?(?:/s|ps)?\s*(?:ethernet|eth\b|lan\b|network|nics?\b|以太网|网卡|网络|网))"
    r"|(?:(?P<ib>\d{2,3})\s*g(?:b(?:it)?)?(?:/s|ps)?\s+)?(?<![a-z])(?:infiniband|ib\b)(?:\s*(?:xdr|ndr|hdr|edr))?"
    r"|(?P<roce>\d{2,3})\s*g(?:b(?:it)?)?(?:/s|ps)?\s*roce|(?P<gen>xdr|ndr|hdr|edr)\b|(?P<tb>thunderbolt|雷电)\s*5?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxNetwork:
    """What joins boxes; the rate is a port's, one way."""

    id: str
    name: str
    bytes_per_s: float
    kind: str  # "infiniband", "roce", "cloud", "ethernet"
    source: str
    as_of: str
    confidence: str
    notes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """How a chip, or chips of its kind, usually stand in machines."""

    chip: str  # id of a chip, "CLASS segment", "VENDOR segment", id of a class or of a kin
    peer: bool  # whether drivers let cards copy to each other over PCIe
    bridged: bool  # whether bridges are there unless somebody says no
    network: str  # id of a network
    network_chips: float  # chips that share a port
    source: str
    as_of: str
    confidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipLinks:
    """The wires of one chip. Rates are one way, as stated; what is reached is a correction."""

    id: str  # "nvlink4", "bridge", "infinity", "pcie", "host", ...
    kind: str  # "switch", "mesh", "torus", "bridge", "pcie", "host" (through its memory), "none"
    bytes_per_s: float  # all links of a chip together
    domain: int  # chips it joins
    box: int  # chips in a box; at least the domain
    box_id: str  # what joins the domains of a box
    box_bytes_per_s: float
    network: BoxNetwork
    network_bytes_per_s: float  # a chip's share of its port


@cache
def networks() -> dict[str, BoxNetwork]:
    """Every network under its id."""
    return {box_network.id: box_network for box_network in records("networks.csv", BoxNetwork)}


def find_network(name: str) -> BoxNetwork:
    """A network by its id."""
    if name not in networks():
        raise AskError(
            say('unknown network "{name}"; known: {known}', name=name, known=", ".join(networks()))
        )
    return networks()[name]


@cache
def wirings() -> dict[str, Wiring]:
    """Every row of how chips stand in machines, under what it is about."""
    return {wiring.chip: wiring for wiring in records("chip_wiring.csv", Wiring)}


@cache
def wiring_of(chip: Chip) -> Wiring:
    """The narrowest row about a chip."""
    kind = chip.kind
    names = (
        chip.id,
        f"{kind.id} {chip.segment}",
        f"{chip.vendor} {chip.segment}",
        kind.id,
        kind.kin,
        "other",
    )
    return next(wirings()[name] for name in names if name in wirings())


@cache
def fabric_of(
    chip: Chip,
    *,
    bridged: bool | None = None,
    network: str | None = None,
    lanes: int | None = None,
    box: int | None = None,
) -> ChipLinks:
    """The wires of a chip; what neither a caller nor its cabling says is as such chips usually stand."""
    usual, cabling = wiring_of(chip), chip.cabling
    link, kind = _link(chip)
    flag = None if cabling is None else cabling.bridged
    bridged = next(text for text in (bridged, flag, usual.bridged) if text is not None)
    # what a chip's slot carries one way; 0: it stands in none
    if chip.pcie_gen is None and chip.form in {"SoC", "module/SoC", "cloud only"}:
        slot = 0.0
    else:
        slot = pcie_bytes_per_s(chip.pcie_gen or PCIE_GEN, lanes or chip.pcie_lanes or PCIE_LANES)
    across = "none" if not slot else "pcie" if usual.peer else "host"
    joined = kind not in {"none", "bridge"} or (kind == "bridge" and bridged)
    most = chip.link_max_chips or 1
    meshed = min(most, BOX_CHIPS) if kind == "mesh" else most  # more than a box only go through switches
    domain = meshed if joined else (BOX_CHIPS if slot else 1)
    domain = min(domain, box) if box else domain
    stated = None if cabling is None else cabling.network
    box_network = find_network(network or stated or usual.network)
    sharing = cabling.network_chips if cabling is not None and stated else usual.network_chips
    port = box_network.bytes_per_s / (1 if network else sharing)
    return ChipLinks(
        id=link if joined else across,
        kind=kind if joined else across,
        bytes_per_s=(chip.link_one_way_bytes_per_s or slot) if joined else slot or port,
        domain=domain,
        box=max(box or (BOX_CHIPS if slot else 1), domain),
        box_id=across,
        box_bytes_per_s=slot or port,
        network=box_network,
        network_bytes_per_s=port,
    )


def _link(chip: Chip) -> tuple[str, str]:
    """Id and kind of a chip's direct link."""
    if not chip.link or not chip.link_one_way_bytes_per_s or (chip.link_max_chips or 1) < 2:
        return "none", "none"
    return next(((link, kind) for word, link, kind in _link_words() if word in chip.link), ("other", "mesh"))


@cache
def _link_words() -> list[tuple[str, ...]]:
    return rows("fabrics.csv", "word", "id", "kind")


def link_count(chip: Chip) -> int | None:
    """Direct links to other chips; None where the table cannot say, 0 where the chip has none."""
    both_ways = chip.link_both_ways_bytes_per_s
    if not both_ways:
        return 0
    each = next((float(rate) * GIGA for word, rate in _link_rates() if word in (chip.link or "")), None)
    if each is None:
        return None
    count = both_ways / each
    return round(count) if abs(count - round(count)) <= _NEAR else None


@cache
def _link_rates() -> list[tuple[str, ...]]:
    return rows("link_rates.csv", "word", "link_gb_per_s")


@cache
def network_of(chip: str) -> float | None:
    """Bytes a second one way for each GPU of boards as their makers ship them; None: without a network."""
    rates = {text: int(rate) * GIGA / BITS for text, rate in rows("gpu_networks.csv", "chip", "gbit_per_s")}
    return rates.get(chip)


def pcie_bytes_per_s(gen: int, lanes: int) -> float:
    """Bytes a second that so many lanes carry in one direction, after encoding and before protocol."""
    _, payload = _generation(gen)
    return pcie_raw_bytes_per_s(gen, lanes) * payload


def pcie_raw_bytes_per_s(gen: int, lanes: int) -> float:
    """The same as data sheets round it: every transferred bit counted."""
    transfers_per_s, _ = _generation(gen)
    return transfers_per_s * lanes / BITS


def _generation(gen: int) -> tuple[float, float]:
    if gen not in _GENERATIONS:
        raise AskError(say("there is no PCIe generation {gen}; there are 1 to 6", gen=gen))
    return _GENERATIONS[gen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a text says of cables; None is not said."""

    bridged: bool | None = None
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    network: str | None = None  # id of a network
    notes: tuple[Sentence, ...] = ()


def take_cabling(text: str) -> tuple[str, Stated]:
    """The text without its words for cables, and what they say."""
    plain, stated = _in_gbe(text), Stated()
    if not any(sign in plain.lower() for sign in _CABLES):
        return plain, stated
    match = _NVLINK.search(plain)
    if match is not None:
        plain, stated = _without(plain, match), replace(stated, bridged=match["no"] is None)
    match = _SLOT.search(plain) or (_LAST.search(plain) if _COUNTED.match(plain) else None)
    if match is not None:
        fields = match.groupdict()
        lanes = fields.get("lanes") or fields.get("wide")
        gen = fields.get("gen")
        stated = replace(stated, pcie_gen=int(gen) if gen else None, pcie_lanes=int(lanes) if lanes else None)
        plain = _without(plain, match)
    match = _NETWORK.search(plain)
    if match is not None and match.start():
        network, notes = _network(match)
        plain, stated = _without(plain, match), replace(stated, network=network.id, notes=notes)
    return plain, stated


def _in_gbe(text: str) -> str:
    """Networks in everyday words by their rate: "万兆网" is 10gbe."""
    named = words_of("network")
    known = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![a-z0-9.])(?:{known})", re.IGNORECASE)
    return pattern.sub(lambda match: f" {named[match[0].lower()]} ", text)


def _without(text: str, match: re.Match[str]) -> str:
    """The text around a match; a comma or a "with" that stood before it goes too."""
    return re.sub(r"[\s,，]*(?:\bwith|带)?[\s,，]*\Z", "", text[: match.start()]) + " " + text[match.end() :]


def _network(match: re.Match[str]) -> tuple[BoxNetwork, tuple[Sentence, ...]]:
    """The network of the kind and rate that are said, or the nearest slower one with a note."""
    if match["tb"]:
        return networks()["thunderbolt-5"], ()
    if match["gen"]:
        return networks()[f"ib-{match['gen'].lower()}"], ()
    kind = "ethernet" if match["eth"] else "roce" if match["roce"] else "infiniband"
    rate = float(match["eth"] or match["roce"] or match["ib"] or 400) * GIGA / BITS
    of_kind = [
        box_network
        for box_network in networks().values()
        if box_network.kind == kind and not box_network.id.startswith("thunder")
    ]
    slower = [box_network for box_network in of_kind if box_network.bytes_per_s <= rate * 1.001]
    speed = attrgetter("bytes_per_s")
    near = max(slower, key=speed) if slower else min(of_kind, key=speed)
    if abs(near.bytes_per_s / rate - 1) < 0.01:
        return near, ()
    return near, (say('using {network} for "{text}"', text=match[0].strip(), network=near.name),)


def cabled(chip: Chip, stated: Stated, *, cards: int) -> tuple[Chip, tuple[Sentence, ...]]:
    """The chip with the cabling stated of a box of so many cards; a note where it cannot be."""
    if stated == Stated():
        return chip, ()
    gen = min(stated.pcie_gen or 9, chip.pcie_gen or stated.pcie_gen or 9)
    lanes = min(stated.pcie_lanes or 99, chip.pcie_lanes or stated.pcie_lanes or 99)
    slotted = replace(
        chip,
        pcie_gen=gen if stated.pcie_gen else chip.pcie_gen,
        pcie_lanes=lanes if stated.pcie_lanes else chip.pcie_lanes,
    )
    bridge = fabric_of(chip, bridged=True).kind == "bridge"
    bridged = stated.bridged if bridge else None
    has_link = bridge or fabric_of(chip).kind not in {"none", "host", "pcie"}
    notes = [*stated.notes]
    if stated.bridged and not has_link:
        notes.append(say("{chip} has no NVLink: the cards are connected over PCIe", chip=chip.name))
    shared = wiring_of(chip).network_chips if chip.segment == "datacenter" else float(cards)
    ethernet = stated.network is not None and networks()[stated.network].kind == "ethernet"
    cabling = Cabling(
        bridged=bridged,
        network=stated.network,
        network_chips=float(cards) if ethernet else shared,
        shown=", ".join(_shown(slotted, stated, bridged=bridged)),
    )
    return replace(slotted, cabling=cabling), tuple(notes)


def _shown(chip: Chip, stated: Stated, *, bridged: bool | None) -> Iterator[str]:
    """The cabling in a few words, as it stands behind the cards."""
    if bridged is not None:
        yield "NVLink" if bridged else "no NVLink"
    if stated.pcie_gen or stated.pcie_lanes:
        yield f"PCIe {chip.pcie_gen or 4}.0 x{chip.pcie_lanes or 16}"
    if stated.network is not None:
        yield networks()[stated.network].name
