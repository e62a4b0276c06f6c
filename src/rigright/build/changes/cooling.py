"""Cooling and power: cards that hold themselves back are freed."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.change import Change, Standing, part_usd
from rigright.facts.parts import parts

_FREED = 1.25  # clocks that heat took, given back; cards that brake hard gain more


def propose(standing: Standing) -> Iterator[Change]:
    """What keeps clocks up."""
    if not standing.chips:
        return
    yield Change(
        kind="cooling",
        title=say("clean filters, faster fans, free slots between GPUs"),
        helps={"cooling": _FREED},
        usd=None,
        command="rigright doctor --only heat",
        source="rule of experience, not measured here",
    )
    for part in parts("cooling"):
        yield Change(
            kind="cooling",
            title=say("more airflow: {part}", part=part.name),
            helps={"cooling": _FREED},
            usd=part_usd(part),
            more_w=part.power_w,
            source=part.source,
        )
    if standing.limit_share is not None and standing.limit_share < 1.0:
        yield Change(
            kind="power",
            title=say(
                "raise the power limit from {share} of the default to the default",
                share=f"{standing.limit_share:.0%}",
            ),
            helps={"power": 1.0 / standing.limit_share ** (1 / 3)},
            usd=None,
            command="nvidia-smi -q -d POWER",
            source="clocks go about as the cube root of power (CMOS: voltage squared times frequency)",
        )
