"""The wires of chips as such chips usually stand, or as somebody described them."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.cost import wires
from rigright.cost.links import Wire
from rigright.facts.chips import Chip
from rigright.facts.fabrics import ChipLinks, fabric_of
from rigright.terms.fitted import fitted

SUBJECT = "links"


def wire_of(chips: Sequence[Chip], *, engine: str | None = None) -> Wire:
    """The wires of chips as such chips usually stand, in their order: each figure an array over them."""
    return wire_of_fabrics([fabric_of(chip) for chip in chips], engine=engine)


def wire_of_fabrics(fabrics: Sequence[ChipLinks], *, engine: str | None = None) -> Wire:
    """The same of fabrics that somebody described: bridges, lanes, a network, cards of a box."""
    return wires.wire_of_fabrics(fabrics, engine=engine, tables=fitted(SUBJECT))
