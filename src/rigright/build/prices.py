"""What parts of the table cost."""

from __future__ import annotations

from rigright.base.units import to_gib
from rigright.cost.estimate import Estimate
from rigright.facts.parts import PartKind
from rigright.money.prices import ram_usd


def part_usd(part: PartKind, count: int = 1) -> Estimate | None:
    """So many of a part, as the table states it; memory by the GB. None where no price is known."""
    if part.usd_low is None or part.usd_high is None:
        kind, registered = part.id.partition("-")[0], "rdimm" in part.id
        return ram_usd(kind, registered=registered, gb=count * to_gib(part.rate or 0.0))
    low, high = count * part.usd_low, count * part.usd_high
    return Estimate(value=(low + high) / 2, low=low, high=high, mark="stated", as_of=part.as_of)
