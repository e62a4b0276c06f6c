"""Money: prices with their age, hours of owning, dollars per million tokens; by hand and by laws."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.money import from_currency
from rigright.facts.chips import by_id, chips
from rigright.facts.nodes import find_node
from rigright.facts.prices import dated, prices
from rigright.money.prices import (
    assumptions,
    kept_share,
    part_usd,
    price_width,
    priced,
    quoted,
    ram_usd,
)
from rigright.money.tariff import (
    HOURS_PER_YEAR,
    Tariff,
    host_usd,
    power_usd_per_h,
    tariff_of,
    usd_per_mtok,
    write_off_usd_per_h,
)

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


def test_every_price_has_a_band_and_its_date():
    for price in prices():
        found = priced(quoted([price]), date(2026, 11, 21))
        assert 0 < found.low <= found.value <= found.high
        assert found.as_of == price.as_of
        assert found.value == pytest.approx(from_currency(price.typical, price.currency))


def test_several_prices_are_their_median_and_their_whole_range():
    rows = [
        replace(prices()[0], as_of=as_of, kind="used", typical=typical, low=low, high=high)
        for as_of, typical, low, high in (
            ("2026-09", 1000.0, 850.0, 1050.0),
            ("2026-05", 750.0, 700.0, 900.0),
            ("2026-04", 700.0, 600.0, None),
        )
    ]
    found = quoted(rows)
    assert (found.usd, found.usd_low, found.usd_high) == (750, 600, 1050)
    assert found.as_of == "2026-09"
    assert found.used


def test_a_price_grows_vaguer_with_the_years():
    widths = [price_width("2020-01-01", date(year, 1, 1)) for year in range(2020, 2030)]
    assert widths == sorted(widths)
    assert widths[-1] == price_width(None, date(2030, 1, 1)) == assumptions()["most_spread"]


def test_the_machine_around_the_cards():
    """A card wants a machine around it; what is sold as a machine wants nothing."""
    assert host_usd(by_id()["apple-m5-max-40c"], 1).value == 0
    assert host_usd(by_id()["rtx-5090-laptop"], 1).value == 0
    assert 500 < host_usd(by_id()["rtx-5090"], 1).value < 2000
    assert host_usd(by_id()["rtx-5090"], 9).value == pytest.approx(
        host_usd(by_id()["rtx-5090"], 8).value + host_usd(by_id()["rtx-5090"], 1).value
    ), "the ninth stands in a second machine"
    assert host_usd(by_id()["h200-sxm-141gb"], 1).value > 10_000, "no desktop has a socket for it"


def test_a_machine_for_more_cards_never_costs_less():
    for chip in chips():
        for end in ("low", "value", "high"):
            told = [getattr(host_usd(chip, count), end) for count in range(33)]
            assert told[0] == 0
            assert told == sorted(told), chip.id


DAY = date(2026, 11, 22)


def test_memory_by_hand():
    """32 GB of DDR5 were 389.99 to 479.99 on 2026-11-01; 64 GB are two of them or a kit of 640 to 960."""
    small = ram_usd("ddr5", registered=False, gb=32)
    assert (small.low, small.value, small.high) == (389.99, 389.99, 479.99)
    double = ram_usd("DDR5-6000", registered=False, gb=64)
    assert double.low == pytest.approx(640), "ten dollars a GB of the larger kit"
    assert double.value == pytest.approx(64 * (389.99 / 32 + 800 / 64) / 2)
    assert double.high == pytest.approx(960)
    assert ram_usd("ddr5", registered=True, gb=512).value == pytest.approx(2 * 4812)
    assert ram_usd("ddr2", registered=False, gb=4) is None, "unknown is no price"


def test_prices_from_before_the_shortage_are_left_out():
    for gb in (32, 96, 128, 512):
        assert ram_usd("ddr5", registered=False, gb=gb).low / gb > 9, "3 a GB in 2025"
        assert ram_usd("ddr5", registered=True, gb=gb).low / gb > 15, "4.9 a GB was a plan"


@given(gb=st.floats(1, 4096), more=st.floats(1, 8))
def test_more_memory_never_costs_less(gb, more):
    for kind in ("ddr4", "ddr5"):
        for registered in (False, True):
            less, much = (
                ram_usd(kind, registered=registered, gb=size, today=DAY) for size in (gb, gb * more)
            )
            for end in ("low", "value", "high"):
                assert getattr(much, end) >= getattr(less, end) * 0.999
            assert less.low <= less.value <= less.high


def test_a_supply_between_two_sizes_lies_between_their_prices():
    small, middle, large = (part_usd("psu", size=watts).value for watts in (850, 1200, 1500))
    assert (small, large) == pytest.approx((100, 380))
    assert small < middle < large


def test_an_old_price_of_a_part_has_the_wider_band():
    fresh, old = (part_usd("cpu", "am5", size=12, today=date(year, 6, 1)) for year in (2026, 2027))
    assert fresh.value == old.value
    assert old.low < fresh.low < fresh.high < old.high


def test_what_was_said_of_the_host_is_what_is_paid_for():
    """A usual machine for one card has 32 GB of DDR5; 512 GB registered and an EPYC take their place."""
    card, usual = by_id()["rtx-4090"], host_usd(by_id()["rtx-4090"], 1, today=DAY)
    more = find_node("rtx 4090 + 64gb ddr5-6000").host
    large = host_usd(card, 1, today=DAY, host=more)
    ram = [ram_usd("ddr5", registered=False, gb=gb, today=DAY).value for gb in (32, 64)]
    assert large.value - usual.value == pytest.approx(ram[1] - ram[0])
    epyc = host_usd(card, 1, today=DAY, host=find_node("rtx 4090 + epyc 9354 + 512gb ddr5").host)
    assert epyc.value > ram_usd("ddr5", registered=True, gb=512, today=DAY).value
    assert host_usd(card, 1, today=DAY, host=find_node("rtx 4090 + ryzen 5 5600").host).value != usual.value


def test_a_machine_without_cards_is_its_host():
    small, desk = (find_node(name) for name in ("n100, 16gb", "ryzen 7950x, 64gb"))
    cheap, dear = (host_usd(one.cards[0].chip, 1, today=DAY, host=one.host).value for one in (small, desk))
    assert 100 < cheap < 600 < dear


@pytest.mark.parametrize(("kinds", "used"), [({"shop", "street"}, False), ({"used"}, True)])
def test_four_of_five_later_prices_lie_in_the_band_of_the_earlier(kinds, used):
    """Cards whose price is known at two dates, in one currency and condition: the width is fitted on them."""
    held = []
    for first, later in product([price for price in prices() if price.kind in kinds], repeat=2):
        alike = (first.chip, first.mem_bytes, first.currency) == (later.chip, later.mem_bytes, later.currency)
        if alike and dated(first.as_of) < dated(later.as_of):
            width = price_width(first.as_of, dated(later.as_of), used=used)
            held.append(1 - width <= later.typical / first.typical <= 1 + width)
    assert len(held) > 25
    assert 0.75 <= np.mean(held) <= 0.88


def test_used_prices_of_old_cards_lie_in_the_band_of_their_loss():
    """Launch price to used price, card by card: between the slow and the fast loss of consumer cards."""
    held = []
    for used in (price for price in prices() if price.kind == "used"):
        chip = by_id()[used.chip]
        first = next((row for row in prices() if (row.chip, row.kind) == (chip.id, "launch")), None)
        if first is None or chip.segment != "consumer":
            continue
        years = (dated(used.as_of) - dated(first.as_of)).days / 365.25
        kept = kept_share(years, segment="consumer")
        ratio = from_currency(used.typical, used.currency) / from_currency(first.typical, first.currency)
        held.append(kept["fast"] <= ratio <= kept["slow"])
    assert len(held) >= 12
    assert 0.75 <= np.mean(held) <= 0.95
