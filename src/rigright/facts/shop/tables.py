"""Boards, power supplies, cases, coolers, cards, memory, drives and finished machines, a record each.

The long tables hold rows of BuildCores OpenDB (ODC-By 1.0, data/parts/about.toml); `*_own.csv` hold ours,
with source, date and confidence, and come first.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, TypeVar

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.tables import scaled
from rigright.base.units import GIB

Record = TypeVar("Record")


def _slots(cell: str) -> tuple[int, ...]:
    """Lengths of slots, longest first: "2x16 1x1" -> 16, 16, 1."""
    numbers: list[int] = []
    for group in cell.split():
        count, _, lanes = group.partition("x")
        numbers += [int(lanes)] * int(count)
    return tuple(sorted(numbers, reverse=True))


_READ = {"Lanes": _slots, "Gigabytes": scaled(GIB)}
Lanes = tuple[int, ...]  # of slots, longest first
Gigabytes = float  # in tables gigabytes of memory, here bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A mainboard. None is unknown."""

    name: str
    vendor: str | None = None
    socket: str | None = None
    chipset: str | None = None
    form: str | None = None  # "ITX", "mATX", "ATX", "CEB", "EATX", "EEB", "XL-ATX"
    mem_type: str | None = None
    mem_slots: int | None = None
    mem_max_bytes: Annotated[Gigabytes | None, "mem_max_gb"] = None
    cpus: int | None = None  # sockets
    slots: Lanes | None = None  # lanes each is long, longest first
    m2: int | None = None
    year: int | None = None
    together: tuple[int, ...] | None = None  # lanes of each slot with cards in all of them
    places: tuple[int, ...] | None = None  # where the slots stand, counted from the processor
    registered: bool | None = None  # takes registered memory only
    usd_low: float | None = None
    usd_high: float | None = None
    source: str | None = None
    as_of: str | None = None
    confidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSupply:
    """A power supply."""

    name: str
    vendor: str | None = None
    watts: float | None = None
    efficiency: str | None = None
    form: str | None = None  # "ATX", "SFX", "SFX-L", "TFX", "Flex ATX", "CRPS"
    eps: int | None = None
    pcie: int | None = None  # 6+2-pin plugs
    h12v: int | None = None  # 12VHPWR and 12V-2x6
    atx3: bool | None = None
    length_m: float | None = None
    volts_min: float | None = None  # below which it does not give its power
    usd_low: float | None = None
    usd_high: float | None = None
    source: str | None = None
    as_of: str | None = None
    confidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """A case, a rack chassis or an open frame."""

    name: str
    vendor: str | None = None
    kind: str | None = None  # "ATX Mid Tower", "rack 4U", "open frame"
    boards: frozenset[str] | None = None
    card_m: float | None = None
    slots: int | None = None
    psu_form: frozenset[str] | None = None
    psu_m: float | None = None
    cooler_m: float | None = None
    volume_l: float | None = None
    usd_low: float | None = None
    usd_high: float | None = None
    source: str | None = None
    as_of: str | None = None
    confidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooler:
    """A cooler of a processor."""

    name: str
    vendor: str | None = None
    type: str | None = None  # "air", "liquid", "passive"
    height_m: float | None = None
    radiator_mm: int | None = None
    sockets: frozenset[str] | None = None
    holds_w: float | None = None
    usd_low: float | None = None
    usd_high: float | None = None
    source: str | None = None
    as_of: str | None = None
    confidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardModel:
    """A graphics card as one maker sells it."""

    name: str
    chip: str
    vendor: str | None = None
    length_m: float | None = None
    slots: float | None = None
    plugs: str | None = None  # "2x8pin", "1x12vhpwr"
    cooling: str | None = None  # how many fans, "Blower", "Hybrid", "Water Cooled", "Passive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """Modules of memory sold together."""

    name: Annotated[str, "part"]
    vendor: str | None = None
    type: str
    modules: int
    module_bytes: Annotated[Gigabytes, "module_gb"]
    mts: int | None = None
    ecc: bool | None = None
    registered: bool | None = None
    laptop: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """An NVMe drive."""

    name: str
    vendor: str | None = None
    gen: int | None = None
    lanes: int | None = None
    form: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A machine that is bought whole: which cards it takes."""

    name: str
    words: tuple[str, ...]
    kind: (
        str  # "closed" takes no cards, "modules" soldered or socketed ones, "slim", "desktop", "server", ...
    )
    chips: frozenset[str] | None = None  # beginnings of ids: what it holds when it is sold
    cards_max: int
    card_slots: float | None = None
    card_m: float | None = None
    passive_ok: bool | None = None
    card_w: Annotated[float | None, "watts_card"] = None
    psu_w: float | None = None
    notes_key: str | None = None
    source: str
    as_of: str
    confidence: str

    @property
    def units(self) -> int | None:
        """How high it is in a rack; of modules what the lowest boxes with such ones are."""
        height = re.search(r"(\d{1,2})u\Z", self.notes_key or "")
        return int(height[1]) if height else 4 if self.kind == "modules" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chipset:
    """Which processors a board of a chipset runs."""

    chipset: str
    socket: str
    mem: frozenset[str]
    runs: frozenset[str]  # ids of families
    bios: frozenset[str] | None = None  # after an update of its firmware
    bios_from: int | None = None  # boards sold since run these too
    splits: bool | None = None  # its boards cut the processor's 16 lanes in two
    source: str
    as_of: str
    confidence: str


@cache
def boards() -> tuple[Board, ...]:
    """Every board, ours first."""
    return _ours_first("boards", Board)


@cache
def supplies() -> tuple[PowerSupply, ...]:
    """Every power supply, ours first."""
    return _ours_first("psus", PowerSupply)


@cache
def cases() -> tuple[Enclosure, ...]:
    """Every case, ours first."""
    return _ours_first("cases", Enclosure)


@cache
def coolers() -> tuple[Cooler, ...]:
    """Every cooler, ours first."""
    return _ours_first("coolers", Cooler)


def _ours_first(table: str, kind: type[Record]) -> tuple[Record, ...]:
    return tuple(
        record
        for file in (f"{table}_own", table)
        for record in records(f"parts/{file}.csv", kind, read=_READ)
    )


@cache
def card_models() -> tuple[CardModel, ...]:
    """Every graphics card of a known chip."""
    return records("parts/cards.csv", CardModel)


@cache
def kits() -> dict[str, Kit]:
    """Every kit of memory by its part number."""
    return {kit.name.casefold(): kit for kit in records("parts/memory.csv", Kit, read=_READ)}


@cache
def drives() -> tuple[Drive, ...]:
    """Every NVMe drive."""
    return records("parts/drives.csv", Drive)


@cache
def finished() -> tuple[Finished, ...]:
    """Every machine that is sold whole."""
    return records("parts/machines.csv", Finished, read={"words": lambda cell: tuple(cell.split("|"))})


@cache
def chipsets() -> dict[str, Chipset]:
    """Every chipset by its name."""
    return {chipset.chipset.casefold(): chipset for chipset in records("parts/chipsets.csv", Chipset)}
