"""How many direct links a chip has: its rate over all of them by the rate of one."""

from __future__ import annotations

from functools import cache

from rigright.base.tables import DATA, read_rows, scaled, text
from rigright.base.units import GIGA
from rigright.facts.chips import Chip

_NEAR = 0.25  # of a link: rates are rounded by vendors, and newer generations run a little faster


def link_count(chip: Chip) -> int | None:
    """Links to other chips; None where the table cannot say, 0 where the chip has none."""
    both_ways = chip.link_both_ways_bytes_per_s
    if not both_ways:
        return 0
    rate = next((rate for word, rate in _rates() if word in (chip.link or "")), None)
    if rate is None:
        return None
    count = both_ways / rate
    return round(count) if abs(count - round(count)) <= _NEAR else None


@cache
def _rates() -> tuple[tuple[str, float], ...]:
    readers = {"word": text, "link_gb_per_s": scaled(GIGA)}
    rows = read_rows(DATA / "link_rates.csv", readers, required=tuple(readers))
    return tuple((row["word"], row["link_gb_per_s"]) for row in rows)
