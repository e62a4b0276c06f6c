"""Money: prices with their age, hours of owning, dollars per million tokens; by hand and by laws."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.cost.money import (
    HOURS_PER_YEAR,
    Tariff,
    machine_usd,
    power_usd_per_h,
    tariff_of,
    usd_per_mtok,
    write_off_usd_per_h,
)
from rigright.cost.prices import assumptions, from_currency, price_width, priced
from rigright.facts.chips import by_id, chips
from rigright.facts.prices import prices

PLAIN = Tariff(usd_per_kwh=0.1, pue=1.0, years=3, duty=1.0)
money = st.floats(1, 1e7)


def test_a_machine_by_hand():
    """$26,298 over three years are a dollar an hour; a kilowatt at ten cents is ten cents."""
    assert write_off_usd_per_h(3 * HOURS_PER_YEAR, PLAIN) == pytest.approx(1.0)
    assert power_usd_per_h(1000, PLAIN) == pytest.approx(0.1)
    assert usd_per_mtok(3.6, 1000) == pytest.approx(1.0), "1000 tok/s are 3.6 million an hour"


def test_a_card_that_idles_half_the_day_costs_twice_for_an_hour_of_work():
    half = Tariff(usd_per_kwh=0.1, pue=1.0, years=3, duty=0.5)
    assert write_off_usd_per_h(1000, half) == 2 * write_off_usd_per_h(1000, PLAIN)


@given(usd=money, more=st.floats(1, 10), watts=st.floats(1, 1e5), rate=st.floats(1, 1e6))
def test_money_grows_with_its_causes(usd, more, watts, rate):
    assert write_off_usd_per_h(usd * more, PLAIN) >= write_off_usd_per_h(usd, PLAIN)
    assert power_usd_per_h(watts * more, PLAIN) >= power_usd_per_h(watts, PLAIN)
    assert usd_per_mtok(usd, rate * more) <= usd_per_mtok(usd, rate)


def test_arrays_and_numbers_are_one_path():
    usd = np.array([100.0, 2000.0, np.nan])
    many = write_off_usd_per_h(usd, PLAIN)
    assert many[1] == write_off_usd_per_h(2000.0, PLAIN)
    assert np.isnan(many[2]), "unknown stays unknown"
    assert np.isnan(usd_per_mtok(np.nan, 5.0))


def test_what_was_said_goes_before_what_is_assumed():
    assumed = tariff_of("datacenter", wished={})
    told = tariff_of("datacenter", wished={"usd_per_kwh": 0.0, "pue": 2.0, "years": 1.0, "duty": 0.1})
    assert (told.usd_per_kwh, told.pue, told.years, told.duty) == (0.0, 2.0, 1.0, 0.1)
    assert assumed.pue > tariff_of("consumer", wished={}).pue


@pytest.mark.parametrize("price", prices(), ids=lambda price: f"{price.chip}-{price.kind}-{price.as_of}")
def test_every_price_has_a_band_and_its_date(price):
    found = priced(price, date(2026, 11, 21))
    assert found.low <= found.value <= found.high
    assert found.as_of == price.as_of
    assert found.value == price.usd > 0


def test_a_price_grows_vaguer_with_the_years():
    widths = [price_width("2020-01-01", date(year, 1, 1)) for year in range(2020, 2030)]
    assert widths == sorted(widths)
    assert widths[-1] == price_width(None, date(2030, 1, 1)) == assumptions()["most_spread"]


def test_the_rest_of_a_machine():
    """A card wants a machine around it; what is sold as a machine wants nothing."""
    assert machine_usd(1000.0, by_id()["rtx-4090"]) > 1000
    assert machine_usd(1000.0, by_id()["apple-m4-max-40c"]) == 1000
    shares = assumptions()["rest_share"]
    assert {chip.segment for chip in chips()} <= set(shares)


def test_currencies_have_dates():
    assert from_currency(7.1, "cny") == pytest.approx(1.0, rel=0.1)
    assert from_currency(5.0, "USD") == 5.0
    for row in assumptions()["currencies"].values():
        assert row["as_of"]
        assert row["source"]
    with pytest.raises(AskError, match="CNY"):
        from_currency(1.0, "doubloons")
