"""Where engines keep KV caches beside the GPUs: main memory and NVMe, and how fast those come back."""

from __future__ import annotations

from functools import cache

from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.facts.engines import Engine, order_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KvStoring:
    """One tier of one engine."""

    engine: str
    tier: str  # "ram", "nvme"
    word: str  # the engine's
    since: str = ""
    share: float = 1.0  # of PCIe that loads reach
    bytes_per_s: float | None = None  # of a drive
    source: str


def storing(engine: Engine, tier: str) -> KvStoring | None:
    """How an engine keeps caches on a tier; None where it does not."""
    rows = (row for row in _rows() if (row.engine, row.tier) == (engine.id, tier))
    return next((row for row in rows if order_of(engine.version) >= order_of(row.since)), None)


def storing_engines(tier: str) -> tuple[str, ...]:
    """The engines that keep caches on a tier."""
    return tuple(row.engine for row in _rows() if row.tier == tier)


@cache
def _rows() -> tuple[KvStoring, ...]:
    return records("kv_stores.csv", KvStoring)
