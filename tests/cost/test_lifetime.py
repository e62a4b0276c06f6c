"""Years of a machine, as a spreadsheet has them: paid when, worth what, paid back when."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rigright.cost.estimate import Estimate
from rigright.facts.clouds import offers
from rigright.facts.prices import dated
from rigright.money.lifetime import (
    FREE,
    HOURS_PER_MONTH,
    Ledger,
    Term,
    added,
    payback,
    points,
    resale_of,
    scaled,
)
from rigright.money.renting import cheapest, contracts, reserved

TODAY = date(2026, 11, 22)
money = st.floats(1, 1e6)
width = st.floats(0, 0.5)


def sure(usd: float) -> Estimate:
    return Estimate(value=usd, low=usd, high=usd)


def about(usd: float, share: float) -> Estimate:
    return Estimate(value=usd, low=usd * (1 - share), high=usd * (1 + share))


def test_three_years_by_hand():
    """The sheet: 6,000 for the machine; 400 W all day at 0.25 and PUE 1.2; 20 of space; it sells for 2,000.

    Power of a month: 0.4 kW x 730.5 h x 1.2 x 0.25 = 87.66. Three years: 6,000 + 36 x (87.66 + 20) - 2,000
    = 6,000 + 3,875.76 - 2,000 = 7,875.76. Rented at 0.80 an hour: 36 x 730.5 x 0.8 = 21,038.40.
    """
    power = 0.4 * HOURS_PER_MONTH * 1.2 * 0.25
    assert power == pytest.approx(87.66)
    bought = Ledger(
        terms=(Term(start=0, upfront=sure(6000), monthly={"power": sure(power), "space": sure(20)},
                    resale=sure(2000)),),
        months=36,
    )  # fmt: skip
    assert bought.total.value == pytest.approx(7875.76)
    assert bought.paid(0).value == 6000
    assert bought.paid(12).value == pytest.approx(6000 + 12 * 107.66)
    assert {name: round(one.value, 2) for name, one in bought.shares.items()} == {
        "machine": 6000, "power": 3155.76, "space": 720, "resale": -2000,
    }  # fmt: skip
    rented = Ledger(terms=(Term(start=0, monthly={"rent": sure(0.8 * HOURS_PER_MONTH)}),), months=36)
    assert rented.total.value == pytest.approx(21038.40)


def test_break_even_by_hand():
    """6,000 up front against 584.40 a month saves 584.40 - 107.66 = 476.74: 12.586 months."""
    found = payback(sure(6000), own=sure(107.66), other=sure(584.40), months=36)
    assert found.months == pytest.approx(6000 / 476.74)
    assert found.months == pytest.approx(12.5855, abs=1e-3)
    assert found.low == found.high == pytest.approx(found.months), "no band: one month"
    assert found.share == 1.0
    assert payback(sure(6000), own=sure(107.66), other=sure(584.40), months=12).share == 0.0


def test_two_machines_one_after_the_other_by_hand():
    """1,000 and 10 a month for a year; sold for 400; then 2,000 and 5 a month; sold for 900 after two years.

    Paid after 24 months: 1,000 + 120 - 400 + 2,000 + 60 = 2,780; the total is 1,880.
    """
    first = Term(start=0, upfront=sure(1000), monthly={"power": sure(10)}, resale=sure(400))
    then = Term(start=12, upfront=sure(2000), monthly={"power": sure(5)}, resale=sure(900))
    ledger = Ledger(terms=(first, then), months=24)
    assert ledger.paid(11).value == 1110
    assert ledger.paid(12).value == 1000 + 120 - 400 + 2000
    assert ledger.paid(24).value == 2780
    assert ledger.total.value == 1880
    assert sum(one.value for one in ledger.shares.values()) == pytest.approx(ledger.total.value)


def test_who_saves_nothing_never_has_paid_back():
    found = payback(sure(1000), own=sure(50), other=sure(50), months=600)
    assert math.isinf(found.months)
    assert math.isinf(found.low)
    assert found.share == 0.0


def test_the_band_of_a_month_by_hand():
    """1,000 (800 to 1,250) against 100 saved a month: 10 months, 8 in a tenth of cases, 12.5 in nine."""
    price = Estimate(value=1000, low=800, high=1250)
    found = payback(price, own=FREE, other=sure(100), months=10)
    assert found.months == 10
    assert found.low == pytest.approx(8, rel=0.02)
    assert found.high == pytest.approx(12.5, rel=0.02)
    assert found.share == pytest.approx(0.5, abs=0.02)


@given(usd=money, saved=st.floats(1, 1e4), share=width, months=st.floats(1, 240), more=st.floats(1, 3))
def test_a_chance_is_a_chance_and_grows_with_the_months(usd, saved, share, months, more):
    price, rent = about(usd, share), about(saved, share)
    less, longer = (payback(price, own=FREE, other=rent, months=end) for end in (months, months * more))
    assert 0 <= less.share <= longer.share <= 1
    assert less.low <= less.high
    assert less.low <= less.months * 1.001
    assert less.high >= less.months * 0.999


@given(usd=money, rent=st.floats(1, 1e4), power=st.floats(0.01, 1e3), share=width)
def test_dearer_power_never_pays_back_sooner(usd, rent, power, share):
    cheap, dear = (
        payback(about(usd, share), own=about(each, share), other=about(rent, share), months=36)
        for each in (power, 2 * power)
    )
    assert dear.months >= cheap.months
    assert dear.share <= cheap.share


@given(usd=money, power=money, years=st.floats(0.1, 20), more=st.floats(1, 2), share=width)
def test_more_years_never_cost_less(usd, power, years, more, share):
    def total(end: float) -> float:
        price = about(usd, share)
        term = Term(
            start=0, upfront=price, monthly={"power": sure(power)},
            resale=resale_of(price, end, segment="consumer"),
        )  # fmt: skip
        return Ledger(terms=(term,), months=12 * end).total.value

    assert total(years * more) >= total(years) * (1 - 1e-9)


@given(usd=money, share=width, factor=st.floats(-3, 3))
def test_sums_and_multiples_keep_their_ends_in_order(usd, share, factor):
    one = about(usd, share)
    for found in (scaled(one, factor), added([one, scaled(one, factor), FREE])):
        assert found.low <= found.value <= found.high
    assume(share > 1e-9)  # less is lost in the digits
    ends = points(one)
    assert list(ends) == sorted(ends)
    assert min(ends) < one.value < max(ends)


@pytest.mark.parametrize("segment", ["consumer", "workstation", "datacenter", "soc", "host", "embedded"])
def test_machines_lose_worth_every_year(segment):
    found = [resale_of(sure(1000), years, segment=segment) for years in range(11)]
    for one in found:
        assert 0 < one.low <= one.value <= one.high <= 1000
    values = [one.value for one in found]
    assert values == sorted(values, reverse=True)
    assert resale_of(sure(1000), 2, segment=segment, used=True).value > found[2].value, (
        "no seller's loss twice"
    )


def test_contracts_are_dated_shares():
    for row in contracts():
        assert 0 < row.share_low <= row.share <= row.share_high <= 1
        assert row.years > 0
        assert dated(row.as_of) <= TODAY
        assert row.source


def test_a_contract_is_the_price_on_demand_by_its_share():
    able = [offer for offer in offers() if offer.chip == "h100-sxm5-80gb" and offer.usd_per_h]
    found = {one[0].years: one for one in reserved(able, 8, today=TODAY, years=3, replica=8)}
    contract, lease = found[1.0]
    own = [offer for offer in able if offer.provider == contract.provider]
    assert lease.usd_per_h.value == cheapest(own, 8, today=TODAY, replica=8).usd_per_h.value
    assert all(one.years <= 1 for one, _ in reserved(able, 8, today=TODAY, years=1))
    assert cheapest([], 8, today=TODAY) is None
