"""CPUs: cores, memory channels and the PCIe lanes left for cards."""

from __future__ import annotations

from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, number, read_rows, scaled, text, whole
from rigright.base.units import GIB, GIGA, MEGA

CHANNEL_BYTES = 8  # a memory channel is 64 bits wide


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuModel:
    """One CPU. None is unknown."""

    id: str
    name: str
    vendor: str
    architecture: str
    socket: str
    max_sockets: int  # how many work together on one board
    cores: int
    threads: int
    base_hz: float | None
    boost_hz: float | None
    pcie_gen: int
    pcie_lanes: int
    pcie_lanes_free: int  # of these, left for cards once the chipset has its share
    mem_channels: int | None
    mem_type: str
    mem_transfers_per_s: float | None  # fastest official rate
    mem_max_bytes: float
    ecc: str  # "y", or on which boards
    tdp_w: float
    list_price_usd: float | None
    street_price_usd: float | None
    street_as_of: str | None
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def mem_bytes_per_s(self) -> float | None:
        """Peak memory bandwidth of one socket with every channel filled."""
        if self.mem_channels is None or self.mem_transfers_per_s is None:
            return None
        return self.mem_channels * self.mem_transfers_per_s * CHANNEL_BYTES


_COLUMNS = {
    "id": ("id", text),
    "name": ("name", text),
    "vendor": ("vendor", text),
    "architecture": ("architecture", text),
    "socket": ("socket", text),
    "max_sockets": ("max_sockets", whole),
    "cores": ("cores", whole),
    "threads": ("threads", whole),
    "base_ghz": ("base_hz", scaled(GIGA)),
    "boost_ghz": ("boost_hz", scaled(GIGA)),
    "pcie_gen": ("pcie_gen", whole),
    "pcie_lanes": ("pcie_lanes", whole),
    "pcie_lanes_free": ("pcie_lanes_free", whole),
    "mem_channels": ("mem_channels", whole),
    "mem_type": ("mem_type", text),
    "mem_mt_per_s": ("mem_transfers_per_s", scaled(MEGA)),
    "mem_max_gib": ("mem_max_bytes", scaled(GIB)),
    "ecc": ("ecc", text),
    "tdp_w": ("tdp_w", number),
    "list_price_usd": ("list_price_usd", number),
    "street_price_usd": ("street_price_usd", number),
    "street_as_of": ("street_as_of", text),
    "source": ("source", text),
    "as_of": ("as_of", text),
    "confidence": ("confidence", text),
    "notes": ("notes", text),
}
_MAY_LACK = {
    *("base_ghz", "boost_ghz", "mem_channels", "mem_mt_per_s"),
    *("list_price_usd", "street_price_usd", "street_as_of", "notes"),
}


@cache
def cpus() -> tuple[CpuModel, ...]:
    """Every CPU of the table, in its order."""
    readers = {column: reader for column, (_, reader) in _COLUMNS.items()}
    required = tuple(column for column in _COLUMNS if column not in _MAY_LACK)
    rows = read_rows(DATA / "cpus.csv", readers, required=required)
    return tuple(CpuModel(**{field: row[column] for column, (field, _) in _COLUMNS.items()}) for row in rows)
