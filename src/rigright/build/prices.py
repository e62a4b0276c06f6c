"""What parts of the table cost."""

from __future__ import annotations

from rigright.cost.estimate import Estimate
from rigright.facts.parts import Part


def part_usd(part: Part, count: int = 1) -> Estimate:
    """So many of a part, as the table states it."""
    low, high = count * part.usd_low, count * part.usd_high
    return Estimate(value=(low + high) / 2, low=low, high=high, mark="stated", as_of=part.as_of)
