"""Fabrics: what joins a chip to others in its domain, in its box and beyond, as vendors state it."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, number, read_rows, scaled, text, yes
from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.facts.chips import Chip
from rigright.facts.links import BITS, pcie_bytes_per_s

BOX_CHIPS = 8  # cards of a box where no fabric says
PCIE_GEN, PCIE_LANES = 4, 16  # of a slot where the chip does not say


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
    readers: dict[str, CellReader] = dict.fromkeys(
        ("id", "name", "kind", "source", "as_of", "confidence", "notes"), text
    )
    readers |= {"gbit_per_s": scaled(GIGA / BITS)}
    rows = read_rows(DATA / "networks.csv", readers, required=("id", "name", "gbit_per_s", "kind", "source"))
    return {row["id"]: BoxNetwork(bytes_per_s=row.pop("gbit_per_s"), **row) for row in map(dict, rows)}


def find_network(name: str) -> BoxNetwork:
    """A network by its id."""
    if name not in networks():
        raise AskError(
            say(
                'unknown network "{name}"; known: {known}',
                name=name,
                known=", ".join(networks()),
            )
        )
    return networks()[name]


@cache
def wirings() -> dict[str, Wiring]:
    """Every row of how chips stand in machines, under what it is about."""
    readers: dict[str, CellReader] = dict.fromkeys(("chip", "network", "source", "as_of", "confidence"), text)
    readers |= {"peer": yes, "bridged": yes, "network_chips": number}
    rows = read_rows(DATA / "chip_wiring.csv", readers, required=tuple(readers))
    return {row["chip"]: Wiring(**row) for row in rows}


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
    told = None if cabling is None else cabling.bridged
    bridged = next(said for said in (bridged, told, usual.bridged) if said is not None)
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
    found = find_network(network or stated or usual.network)
    sharing = cabling.network_chips if cabling is not None and stated else usual.network_chips
    port = found.bytes_per_s / (1 if network else sharing)
    return ChipLinks(
        id=link if joined else across,
        kind=kind if joined else across,
        bytes_per_s=(chip.link_one_way_bytes_per_s or slot) if joined else slot or port,
        domain=domain,
        box=max(box or (BOX_CHIPS if slot else 1), domain),
        box_id=across,
        box_bytes_per_s=slot or port,
        network=found,
        network_bytes_per_s=port,
    )


def _link(chip: Chip) -> tuple[str, str]:
    """Id and kind of a chip's direct link."""
    if not chip.link or not chip.link_one_way_bytes_per_s or (chip.link_max_chips or 1) < 2:
        return "none", "none"
    return next(((link, kind) for word, link, kind in _words() if word in chip.link), ("other", "mesh"))


@cache
def _words() -> tuple[tuple[str, str, str], ...]:
    columns = ("word", "id", "kind")
    rows = read_rows(DATA / "fabrics.csv", dict.fromkeys(columns, text), required=columns)
    return tuple((row["word"], row["id"], row["kind"]) for row in rows)
