"""Cabling somebody states beside the cards: an NVLink bridge, narrow slots, a network between machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from rigright.base.patterns import pattern
from rigright.base.record import dataclass
from rigright.base.units import GIGA
from rigright.base.words import Sentence, say
from rigright.facts.chips import Cabling, Chip
from rigright.facts.fabrics import BoxNetwork, fabric_of, networks, wiring_of
from rigright.facts.links import BITS

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
class Stated:
    """What a text says of cables; None is not said."""

    bridged: bool | None = None
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    network: str | None = None  # id of a network
    notes: tuple[Sentence, ...] = ()


def take_cabling(text: str) -> tuple[str, Stated]:
    """The text without its words for cables, and what they say."""
    plain, stated = text, Stated()
    found = _NVLINK.search(plain)
    if found is not None:
        plain, stated = _without(plain, found), replace(stated, bridged=found["no"] is None)
    found = _SLOT.search(plain) or (_LAST.search(plain) if _COUNTED.match(plain) else None)
    if found is not None:
        said = found.groupdict()
        lanes = said.get("lanes") or said.get("wide")
        gen = said.get("gen")
        stated = replace(stated, pcie_gen=int(gen) if gen else None, pcie_lanes=int(lanes) if lanes else None)
        plain = _without(plain, found)
    found = _NETWORK.search(plain)
    if found is not None and found.start():
        network, notes = _network(found)
        plain, stated = _without(plain, found), replace(stated, network=network.id, notes=notes)
    return plain, stated


def _without(text: str, found: re.Match[str]) -> str:
    """The text around a match; a comma or a "with" that stood before it goes too."""
    return re.sub(r"[\s,，]*(?:\bwith|带)?[\s,，]*\Z", "", text[: found.start()]) + " " + text[found.end() :]


def _network(found: re.Match[str]) -> tuple[BoxNetwork, tuple[Sentence, ...]]:
    """The network of the kind and rate that are said, or the nearest slower one with a note."""
    if found["tb"]:
        return networks()["thunderbolt-5"], ()
    if found["gen"]:
        return networks()[f"ib-{found['gen'].lower()}"], ()
    kind = "ethernet" if found["eth"] else "roce" if found["roce"] else "infiniband"
    rate = float(found["eth"] or found["roce"] or found["ib"] or 400) * GIGA / BITS
    of_kind = [one for one in networks().values() if one.kind == kind and not one.id.startswith("thunder")]
    slower = [one for one in of_kind if one.bytes_per_s <= rate * 1.001]
    speed = attrgetter("bytes_per_s")
    near = max(slower, key=speed) if slower else min(of_kind, key=speed)
    if abs(near.bytes_per_s / rate - 1) < 0.01:
        return near, ()
    return near, (say('using {network} for "{text}"', text=found[0].strip(), network=near.name),)


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
