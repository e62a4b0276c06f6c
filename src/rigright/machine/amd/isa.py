"""AMD's instruction sets: how a number of the kernel is called, and which stand inside a processor."""

from __future__ import annotations

from functools import cache

from rigright.base.tables import DATA, raw_rows


def isa_of(version: int) -> str | None:
    """The name of an instruction set: 90402 -> "gfx942", 110001 -> "gfx1101"."""
    if not version:
        return None
    return f"gfx{version // 10_000}{version // 100 % 100:x}{version % 100:x}"


def shares_memory(isa: str | None) -> bool:
    """Whether it is graphics inside a processor, which uses main memory."""
    return isa in _inside()


@cache
def _inside() -> frozenset[str]:
    return frozenset(row["isa"] for _, row in raw_rows(DATA / "amd_inside.csv", required=("isa",)))
