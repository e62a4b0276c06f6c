"""A measured figure for people: "812 TFLOP/s", "26.2 GB/s", "5.1 ms"."""

from __future__ import annotations

from rigright.base.units import GIGA, KILO, MEGA, TERA, show_bytes, show_seconds, show_short

_RATES = {
    "flops_per_s": (("TFLOP/s", TERA), ("GFLOP/s", GIGA)),
    "bytes_per_s": (("TB/s", TERA), ("GB/s", GIGA), ("MB/s", MEGA)),
    "ops_per_s": (("M/s", MEGA), ("k/s", KILO), ("/s", 1.0)),
    "items_per_s": (("k/s", KILO), ("/s", 1.0)),
    "tok_per_s": (("tok/s", 1.0),),
}


def shown(value: float, unit: str) -> str:
    """The figure with the unit that suits its size."""
    if unit == "s":
        return show_seconds(value)
    if unit == "bytes":
        return show_bytes(value)
    scales = _RATES.get(unit)
    if scales is None:
        return show_short(value)
    name, scale = next(((name, scale) for name, scale in scales if value >= scale), scales[-1])
    return f"{show_short(value / scale)} {name}"
