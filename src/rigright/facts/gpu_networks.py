"""The network that boards of a chip have for each of its GPUs, as their makers ship them."""

from __future__ import annotations

from functools import cache

from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.units import GIGA


def network_of(chip: str) -> float | None:
    """Bytes a second one way for each GPU; None where nobody ships such boards with a network."""
    return _rates().get(chip)


@cache
def _rates() -> dict[str, float]:
    readers = {"chip": text, "gbit_per_s": whole, "source": text, "as_of": text}
    rows = read_rows(DATA / "gpu_networks.csv", readers, required=tuple(readers))
    return {row["chip"]: row["gbit_per_s"] * GIGA / 8 for row in rows}
