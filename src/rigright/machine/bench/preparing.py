"""How many workers are tried."""

from __future__ import annotations


def worker_counts(most: int) -> list[int]:
    """1, 2, 4 ... and all."""
    return sorted({*(2**power for power in range(10) if 2**power < most), most})
