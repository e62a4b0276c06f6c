"""Boards, power supplies, cases, coolers, cards, memory, drives and finished machines, a record each.

The long tables hold rows of BuildCores OpenDB (ODC-By 1.0, data/parts/about.toml); `*_own.csv` hold ours,
with source, date and confidence, and come first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, number, read_rows, scaled, text, whole, yes
from rigright.base.units import GIB, KILO

PARTS = DATA / "parts"
OURS = "own"  # of rows that state their own source
_MILLI = 1 / KILO
Record = TypeVar("Record")


def _words(cell: str) -> frozenset[str]:
    return frozenset(cell.split())


def _wholes(cell: str) -> tuple[int, ...]:
    return tuple(int(one) for one in cell.split())


def _slots(cell: str) -> tuple[int, ...]:
    """Lengths of slots, longest first: "2x16 1x1" -> 16, 16, 1."""
    found: list[int] = []
    for group in cell.split():
        count, _, lanes = group.partition("x")
        found += [int(lanes)] * int(count)
    return tuple(sorted(found, reverse=True))


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
    mem_max_bytes: float | None = None
    cpus: int | None = None  # sockets
    slots: tuple[int, ...] | None = None  # lanes each is long, longest first
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

    name: str
    vendor: str | None = None
    type: str
    modules: int
    module_bytes: float
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
    card_w: float | None = None
    psu_w: float | None = None
    source: str
    as_of: str
    confidence: str


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


_PRICED: dict[str, tuple[str, CellReader]] = {
    "usd_low": ("usd_low", number), "usd_high": ("usd_high", number), "source": ("source", text),
    "as_of": ("as_of", text), "confidence": ("confidence", text),
}  # fmt: skip
_BOARD: dict[str, tuple[str, CellReader]] = {
    "name": ("name", text), "vendor": ("vendor", text), "socket": ("socket", text),
    "chipset": ("chipset", text), "form": ("form", text), "mem_type": ("mem_type", text),
    "mem_slots": ("mem_slots", whole), "mem_max_gb": ("mem_max_bytes", scaled(GIB)), "cpus": ("cpus", whole),
    "slots": ("slots", _slots), "m2": ("m2", whole), "year": ("year", whole),
}  # fmt: skip
_SUPPLY: dict[str, tuple[str, CellReader]] = {
    "name": ("name", text), "vendor": ("vendor", text), "watts": ("watts", number),
    "efficiency": ("efficiency", text), "form": ("form", text), "eps": ("eps", whole),
    "pcie": ("pcie", whole), "h12v": ("h12v", whole), "atx3": ("atx3", yes),
    "length_mm": ("length_m", scaled(_MILLI)),
}  # fmt: skip
_CASE: dict[str, tuple[str, CellReader]] = {
    "name": ("name", text), "vendor": ("vendor", text), "kind": ("kind", text), "boards": ("boards", _words),
    "card_mm": ("card_m", scaled(_MILLI)), "slots": ("slots", whole), "psu_form": ("psu_form", _words),
    "psu_mm": ("psu_m", scaled(_MILLI)), "cooler_mm": ("cooler_m", scaled(_MILLI)),
    "volume_l": ("volume_l", number),
}  # fmt: skip
_COOLER: dict[str, tuple[str, CellReader]] = {
    "name": ("name", text), "vendor": ("vendor", text), "type": ("type", text),
    "height_mm": ("height_m", scaled(_MILLI)), "radiator_mm": ("radiator_mm", whole),
    "sockets": ("sockets", _words),
}  # fmt: skip


def _read(
    make: Callable[..., Record], file: str, *, columns: dict[str, tuple[str, CellReader]]
) -> tuple[Record, ...]:
    """The records of a file; an unknown cell takes the field's default."""
    readers = {column: reader for column, (_, reader) in columns.items()}
    found = []
    for row in read_rows(PARTS / f"{file}.csv", readers, required=("name",) if "name" in columns else ()):
        known: dict[str, Any] = {columns[one][0]: value for one, value in row.items() if value is not None}
        found.append(make(**known))
    return tuple(found)


@cache
def boards() -> tuple[Board, ...]:
    """Every board, ours first."""
    own = {
        "together": ("together", _wholes), "places": ("places", _wholes), "registered": ("registered", yes),
    }  # fmt: skip
    return _read(Board, "boards_own", columns=_BOARD | own | _PRICED) + _read(Board, "boards", columns=_BOARD)


@cache
def supplies() -> tuple[PowerSupply, ...]:
    """Every power supply, ours first."""
    own: dict[str, tuple[str, CellReader]] = {"volts_min": ("volts_min", number)}
    return _read(PowerSupply, "psus_own", columns=_SUPPLY | own | _PRICED) + _read(
        PowerSupply, "psus", columns=_SUPPLY
    )


@cache
def cases() -> tuple[Enclosure, ...]:
    """Every case, ours first."""
    return _read(Enclosure, "cases_own", columns=_CASE | _PRICED) + _read(Enclosure, "cases", columns=_CASE)


@cache
def coolers() -> tuple[Cooler, ...]:
    """Every cooler, ours first."""
    own: dict[str, tuple[str, CellReader]] = {"holds_w": ("holds_w", number)}
    return _read(Cooler, "coolers_own", columns=_COOLER | own | _PRICED) + _read(
        Cooler, "coolers", columns=_COOLER
    )


@cache
def card_models() -> tuple[CardModel, ...]:
    """Every graphics card of a known chip."""
    columns: dict[str, tuple[str, CellReader]] = {
        "chip": ("chip", text), "name": ("name", text), "vendor": ("vendor", text),
        "length_mm": ("length_m", scaled(_MILLI)), "slots": ("slots", number), "plugs": ("plugs", text),
        "cooling": ("cooling", text),
    }  # fmt: skip
    return _read(CardModel, "cards", columns=columns)


@cache
def kits() -> dict[str, Kit]:
    """Every kit of memory by its part number."""
    columns: dict[str, tuple[str, CellReader]] = {
        "part": ("name", text), "vendor": ("vendor", text), "type": ("type", text),
        "modules": ("modules", whole), "module_gb": ("module_bytes", scaled(GIB)), "mts": ("mts", whole),
        "ecc": ("ecc", yes), "registered": ("registered", yes), "laptop": ("laptop", yes),
    }  # fmt: skip
    return {one.name.casefold(): one for one in _read(Kit, "memory", columns=columns)}


@cache
def drives() -> tuple[Drive, ...]:
    """Every NVMe drive."""
    columns: dict[str, tuple[str, CellReader]] = {
        "name": ("name", text), "vendor": ("vendor", text), "gen": ("gen", whole), "lanes": ("lanes", whole),
        "form": ("form", text),
    }  # fmt: skip
    return _read(Drive, "drives", columns=columns)


@cache
def finished() -> tuple[Finished, ...]:
    """Every machine that is sold whole."""
    columns: dict[str, tuple[str, CellReader]] = {
        "name": ("name", text), "words": ("words", lambda cell: tuple(cell.split("|"))),
        "kind": ("kind", text), "chips": ("chips", _words), "cards_max": ("cards_max", whole),
        "card_slots": ("card_slots", number), "card_mm": ("card_m", scaled(_MILLI)),
        "passive_ok": ("passive_ok", yes), "watts_card": ("card_w", number), "psu_w": ("psu_w", number),
        "source": ("source", text), "as_of": ("as_of", text), "confidence": ("confidence", text),
    }  # fmt: skip
    return _read(Finished, "machines", columns=columns)


@cache
def chipsets() -> dict[str, Chipset]:
    """Every chipset by its name."""
    columns: dict[str, tuple[str, CellReader]] = {
        "chipset": ("chipset", text), "socket": ("socket", text), "mem": ("mem", _words),
        "runs": ("runs", _words), "bios": ("bios", _words), "bios_from": ("bios_from", whole),
        "splits": ("splits", yes), "source": ("source", text), "as_of": ("as_of", text),
        "confidence": ("confidence", text),
    }  # fmt: skip
    return {one.chipset.casefold(): one for one in _read(Chipset, "chipsets", columns=columns)}
