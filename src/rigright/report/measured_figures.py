"""A measured figure as people write it: 1,402 TFLOP/s, 55.4 GB/s, 12 ms."""

from __future__ import annotations

from rigright.base.units import GIGA, KILO, MEGA, TERA, show_bytes, show_seconds, show_short


def shown(value: float, unit: str) -> str:
    """A value in one of the units of `Result`."""
    if unit == "s":
        return show_seconds(value) if value >= 1 / KILO else f"{show_short(value * MEGA)} µs"
    if unit == "bytes":
        return show_bytes(value)
    scale, name = {
        "flops_per_s": (TERA, "TFLOP/s") if value >= TERA else (GIGA, "GFLOP/s"),
        "bytes_per_s": (GIGA, "GB/s") if value >= GIGA / 10 else (MEGA, "MB/s"),
        "ops_per_s": (1.0, "op/s"),
        "items_per_s": (1.0, "items/s"),
        "ratio": (1.0, ""),
    }.get(unit, (1.0, unit))
    return f"{show_short(value / scale)} {name}".rstrip()
