"""A usual host around cards costs about what `build` asks for the same, part by part."""

from __future__ import annotations

from datetime import date

import pytest

from rigright.build.proposals.propose import propose
from rigright.build.proposals.record import RECOMMENDED, BuildWish
from rigright.facts.chips import by_id
from rigright.money.tariff import host_usd

DAY = date(2026, 11, 24)


@pytest.mark.parametrize(
    ("chip", "count"),
    [("rtx-3060-12gb", 2), ("rtx-3090", 1), ("rtx-4090", 4), ("rtx-5090", 2), ("rx-9070", 4), ("l40s", 2),
     ("h100-pcie-80gb", 8)],
)  # fmt: skip
def test_the_usual_host_costs_what_its_parts_cost(chip, count):
    """Within a quarter: a power supply more or less; before, two cards' host was twice its bill."""
    made = propose(BuildWish(cards=((chip, count),)), today=DAY).variants
    bill = next(one for one in made if one.label == RECOMMENDED).around_usd.value
    assert host_usd(by_id()[chip], count, today=DAY).value == pytest.approx(bill, rel=0.25)
