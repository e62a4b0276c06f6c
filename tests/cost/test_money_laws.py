"""Money as laws: an hour's cost is a sum of lines, unknown stays unknown, and old prices say their age."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import AskError
from rigright.base.money import from_currency
from rigright.facts.chips import by_id, chips
from rigright.facts.clouds import offers
from rigright.facts.prices import STALE_DAYS, dated, is_stale, prices
from rigright.money.prices import assumptions, price_width, priced, quote_of, quoted
from rigright.money.tariff import (
    HOURS_PER_YEAR,
    Tariff,
    power_usd_per_h,
    tariff_of,
    usd_per_mtok,
    write_off_usd_per_h,
)
from rigright.terms.fitted import pue_of

tariffs = st.builds(
    Tariff,
    usd_per_kwh=st.floats(0, 1),
    pue=st.floats(1, 2),
    years=st.floats(0.5, 10),
    duty=st.floats(0.01, 1),
)
usd = st.floats(0, 1e7)
watts = st.floats(0, 1e6)
days = st.dates(date(2024, 1, 1), date(2032, 1, 1))
PRICED = st.sampled_from(prices())


@given(tariff=tariffs, first=watts, second=watts)
def test_two_machines_cost_what_each_does(tariff, first, second):
    both = power_usd_per_h(first + second, tariff)
    assert both == pytest.approx(power_usd_per_h(first, tariff) + power_usd_per_h(second, tariff))
    one, other = write_off_usd_per_h(first, tariff), write_off_usd_per_h(second, tariff)
    assert write_off_usd_per_h(first + second, tariff) == pytest.approx(one + other)


@given(tariff=tariffs, power=watts, factor=st.floats(0, 10))
def test_power_costs_as_many_times_more_as_the_tariff(tariff, power, factor):
    plain = power_usd_per_h(power, tariff)
    for name in ("usd_per_kwh", "pue"):
        dearer = replace(tariff, **{name: getattr(tariff, name) * factor})
        assert power_usd_per_h(power, dearer) == pytest.approx(plain * factor)
    assert power_usd_per_h(power, replace(tariff, usd_per_kwh=0.0)) == 0, "the sun is free"


@given(tariff=tariffs, price=usd)
def test_all_hours_of_a_machine_together_pay_it_once(tariff, price):
    hours = tariff.years * HOURS_PER_YEAR * tariff.duty
    assert write_off_usd_per_h(price, tariff) * hours == pytest.approx(price)


@given(tariff=tariffs, price=usd, more=st.floats(1, 5))
def test_longer_use_never_makes_an_hour_dearer(tariff, price, more):
    later = replace(tariff, years=tariff.years * more)
    assert write_off_usd_per_h(price, later) <= write_off_usd_per_h(price, tariff) * (1 + 1e-12)


@given(hour=st.floats(0, 1e4), rate=st.floats(1e-3, 1e7), factor=st.floats(0.01, 100))
def test_a_million_tokens_cost_an_hour_over_the_tokens_of_an_hour(hour, rate, factor):
    told = float(usd_per_mtok(hour, rate))
    assert told * rate * 3600 / 1e6 == pytest.approx(hour)
    assert float(usd_per_mtok(hour * factor, rate)) == pytest.approx(told * factor)
    assert float(usd_per_mtok(hour, rate * factor)) == pytest.approx(told / factor)


def test_unknown_is_never_free():
    """nan goes through every law; nothing that makes no tokens makes them at a price."""
    plain = tariff_of("datacenter", wished={})
    for law in (write_off_usd_per_h, power_usd_per_h):
        assert np.isnan(law(np.nan, plain))
    assert np.isnan(usd_per_mtok(np.nan, 10.0))
    assert np.isnan(usd_per_mtok(1.0, np.nan))
    assert np.isinf(usd_per_mtok(1.0, 0.0))
    assert np.isnan(usd_per_mtok(0.0, 0.0))


TODAY = date(2026, 11, 22)


def test_what_nobody_sells_has_no_price():
    sold = {price.chip for price in prices()}
    unsold = [chip.id for chip in chips() if chip.id not in sold]
    assert unsold
    assert all(quote_of(by_id()[chip], today=TODAY) is None for chip in unsold)
    quotes = [quote for chip in sold if (quote := quote_of(by_id()[chip], today=TODAY)) is not None]
    assert quotes
    assert all(0 < quote.usd_low <= quote.usd <= quote.usd_high for quote in quotes)


@given(price=PRICED, today=days)
def test_a_band_of_a_price_holds_it_and_is_never_wider_than_the_widest(price, today):
    bare = replace(price, low=None, high=None)
    assert priced(quoted([bare]), today).high / priced(quoted([bare]), today).value <= (
        1 + assumptions()["most_spread"] + 1e-9
    )
    found = priced(quoted([price]), today)
    assert 0 < found.low <= found.value <= found.high
    assert found.why == price.source
    assert found.mark in {"measured", "stated"}


@given(price=PRICED, today=days, later=st.integers(0, 3000))
def test_prices_grow_vaguer_and_then_stale_and_never_fresh_again(price, today, later):
    after = today + timedelta(days=later)
    assert price_width(price.as_of, after) >= price_width(price.as_of, today)
    assert is_stale(price.as_of, after) >= is_stale(price.as_of, today)
    assert is_stale(price.as_of, dated(price.as_of) + timedelta(days=STALE_DAYS + 1))
    assert not is_stale(price.as_of, dated(price.as_of))


def test_no_date_is_the_oldest_date():
    assert is_stale(None, date(2020, 1, 1))
    assert price_width(None, date(2020, 1, 1)) == assumptions()["most_spread"]


def test_spot_hours_never_cost_more_than_those_on_demand():
    both = [offer for offer in offers() if offer.usd_per_h is not None and offer.spot_usd_per_h is not None]
    assert len(both) > 10
    for offer in both:
        assert 0 < offer.spot_usd_per_h <= offer.usd_per_h, offer.instance


def test_nobody_rents_for_nothing():
    for offer in offers():
        for price in (offer.usd_per_h, offer.spot_usd_per_h, offer.native_per_h, offer.spot_native_per_h):
            assert price is None or price > 0, offer.instance


def test_the_same_instance_holds_as_many_chips_in_every_region():
    held = {}
    for offer in offers():
        if not offer.instance.startswith("n1-"):  # to which any card may be joined
            key = (offer.provider, offer.instance)
            assert held.setdefault(key, (offer.chip, offer.n_chips)) == (offer.chip, offer.n_chips), key


@given(amount=st.floats(0.01, 1e9), code=st.sampled_from(["CNY", "cny", "EUR", "usd"]))
def test_money_of_other_countries_is_changed_at_one_rate(amount, code):
    one = from_currency(1.0, code)
    assert from_currency(amount, code) == pytest.approx(amount * one)
    assert 0.05 < one < 2, "a yuan is some cents, a euro about a dollar"


@pytest.mark.parametrize("code", ["", "ZZZ", "yuan", "$"])
def test_a_currency_nobody_knows_is_said_with_those_there_are(code):
    with pytest.raises(AskError, match="USD"):
        from_currency(1.0, code)


def test_what_is_assumed_has_a_date_a_source_and_a_sensible_size():
    table = assumptions()
    assert table["source"]
    assert table["as_of"]
    assert 0 < table["tariff_usd_per_kwh"] < 1
    assert 0 < table["price_spread"] < table["most_spread"] < 1
    assert table["price_drift"] > 0
    assert {chip.segment for chip in chips()} == table["places"].keys()
    for place in table["places"].values():
        assert pue_of(place) >= 1


@given(
    said=st.fixed_dictionaries(
        {name: st.one_of(st.none(), st.floats(0.1, 5)) for name in ("usd_per_kwh", "pue", "years", "duty")}
    ),
    segment=st.sampled_from(sorted({chip.segment for chip in chips()})),
)
def test_every_word_that_was_said_is_kept_and_only_the_others_are_assumed(said, segment):
    found, assumed = tariff_of(segment, wished=said), tariff_of(segment, wished={})
    for name, value in said.items():
        assert getattr(found, name) == (getattr(assumed, name) if value is None else value)
