"""The network: a faster port."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.change import Change, Fit, Standing, part_usd
from rigright.facts.parts import parts

_LEAST_FASTER = 1.5


def propose(standing: Standing) -> Iterator[Change]:
    """Every card that carries much more than the fastest port here."""
    now = standing.net_bytes_per_s
    if not now:
        return
    free = standing.free_slots
    for part in parts("nic"):
        if part.rate and part.rate / now >= _LEAST_FASTER:
            lanes = part.needs_lanes or 1
            yield Change(
                kind="network",
                title=say("{part}, and a switch port of that speed", part=part.name),
                helps={"network": part.rate / now},
                usd=part_usd(part),
                fits=(
                    Fit(
                        says=say("free PCIe slot, x{lanes}", lanes=lanes),
                        holds=None if free is None else any(number >= lanes for number in free),
                    ),
                    Fit(says=say("free switch port of that speed"), holds=None),
                ),
                more_w=part.power_w,
                source=part.source,
            )
