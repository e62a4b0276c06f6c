"""The 80 % band of a figure of inference memory: what is counted is sure, what is estimated is not."""

from __future__ import annotations

from rigright.demand import Numbers
from rigright.facts.corrections import corrections

SUBJECT = "memory_serving"


def band(
    kind: str, value_bytes: Numbers, *, sure_bytes: Numbers, unsure_bytes: Numbers
) -> tuple[Numbers, Numbers]:
    """Low and high: a small part of what is counted, and a fitted part of what is estimated."""
    terms = corrections(SUBJECT)["bands"][kind]
    low = value_bytes - terms["sure"] * sure_bytes - (1 - terms["low"]) * unsure_bytes
    high = value_bytes + terms["sure"] * sure_bytes + (terms["high"] - 1) * unsure_bytes
    return low, high
