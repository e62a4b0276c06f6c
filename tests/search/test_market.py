"""What is bought: used where it is made no more, at cards x price and a machine around them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import pytest

from rigright.arch.sources.open import open_model
from rigright.base.money import currencies
from rigright.cost.estimate import added
from rigright.demand import PlanWish
from rigright.facts.chips import by_id, chips
from rigright.facts.clouds import find_instance, offers
from rigright.facts.find import with_memory
from rigright.facts.own_prices import use
from rigright.facts.prices import Price, newest_prices, prices
from rigright.money.machine_price import around_usd
from rigright.search.find import find
from rigright.search.market import market_on, offers_of
from rigright.search.question import ask, kinds_of
from rigright.search.serving import filled
from rigright.search.supply import BUY, RENT, SIZES, prices_of, supply_of

WORK = {"prompt_tok": 1024, "output_tok": 256}
TODAY = date(2026, 11, 21)


def first_of(arch, market, **wish):
    return find(arch, PlanWish(**WORK, **wish), market=market).plans[0]


def question_of(arch, market, **wish):
    return ask(arch, filled(arch, PlanWish(users=8, **WORK, **wish), market=market), market=market)


def test_what_is_made_no_more_is_never_bought_new(market):
    for chip in chips():
        quote = market.cards.get(chip.id)
        assert quote is None or quote.used is (chip.ended is not None), chip.id


def test_old_cards_are_few_used_and_dated(llama8, market):
    """64 Tesla P40 for eight users of an 8B model is a fault."""
    plan = first_of(llama8, market, users=8, chips=("tesla p40",))
    assert plan.n_chips <= 2
    assert plan.supply.used
    assert plan.supply.as_of == market.cards["tesla-p40"].as_of
    assert plan.supply.usd.low < plan.supply.usd.value < plan.supply.usd.high
    assert [note.text for note in plan.notes].count("used cards carry no warranty") == 1


def test_without_any_price_the_fewest_and_weakest_cards_win(llama8, market):
    empty = replace(market, cards={}, offers={})
    plan = first_of(llama8, empty, users=8, chips=("tesla p40",))
    assert plan.supply.as_of is None
    with_price = first_of(llama8, market, users=8, chips=("tesla p40",))
    assert plan.n_chips <= with_price.n_chips
    anything = first_of(llama8, empty, users=8)
    assert anything.n_chips == 1
    strong = first_of(llama8, empty, users=8, chips=("h200",))
    assert anything.figures["power_w"].value < strong.figures["power_w"].value


def test_a_known_price_goes_before_an_unknown_one(llama8, market):
    only = replace(market, cards={"h200-sxm-141gb": market.cards["h200-sxm-141gb"]}, offers={})
    assert first_of(llama8, only, users=8).chip.id == "h200-sxm-141gb"


def test_cards_cost_their_number_times_the_price_and_the_machine_comes_on_top(llama8, market):
    question = question_of(llama8, market, chips=("rtx 5090",))
    (kind,) = question.kinds
    price = market.cards["rtx-5090"].usd
    bought = prices_of(question, asked=range(13)).cards_usd[0]
    for count in (1, 2, 3, 8, 12):
        supply = supply_of(question, kind, how=BUY, n_chips=count, replica=1)
        assert supply.usd.value == pytest.approx(count * price)
        assert bought[count] == pytest.approx(supply.usd.value)
        each = count // supply.n_units
        around = around_usd(((kind.chip, each),), boxes=supply.n_units, today=TODAY)
        assert supply.host_usd == around


def test_more_cards_never_cost_less(llama8, market):
    """Unless fewer machines hold them: 24 stand in three of eight, 20 in four of five."""
    question = question_of(llama8, market)
    known = []
    for kind in question.kinds:
        told = [supply_of(question, kind, how=BUY, n_chips=count, replica=1) for count in kind.counts]
        if all(one.usd is not None for one in told):
            known.append([(one.n_units, one.usd.value + one.host_usd.value) for one in told])
    assert len(known) > 30
    pairs = [pair for row in known for pair in pairwise(row)]
    assert all(usd <= more for (boxes, usd), (units, more) in pairs if units >= boxes)
    assert sum(units >= boxes for (boxes, _), (units, _) in pairs) > 0.95 * len(pairs)
    assert all(row[-1][1] > row[0][1] for row in known if len(row) > 2)


def test_cards_beside_those_that_are_there_cost_their_price_alone(llama8, market):
    question = question_of(llama8, market, owned="2x rtx 3090")
    place = next(place for place, kind in enumerate(question.kinds) if kind.owned)
    bought = prices_of(question, asked=range(13)).cards_usd[place]
    assert bought[2] == 0
    assert bought[3] == pytest.approx(market.cards["rtx-3090"].usd)
    assert supply_of(question, question.kinds[place], how=BUY, n_chips=3, replica=1).host_usd.value == 0


def test_a_plan_costs_cards_and_host(llama8, market):
    plan = first_of(llama8, market, users=8, buy=True)
    whole = added((plan.supply.usd, plan.supply.host_usd))
    for end in ("low", "value", "high"):
        assert getattr(plan.figures["usd"], end) == pytest.approx(getattr(whole, end))


@pytest.mark.parametrize("wish", [{"buy": True}, {"buy": False}, {"owned": "1x rtx 3090"}])
def test_the_whole_cost_is_the_machine_and_the_power_of_all_years(llama8, market, wish):
    plan = first_of(llama8, market, users=8, years=2.0, duty=0.5, tariff_usd_per_kwh=0.3, pue=1.5, **wish)
    power = plan.figures["power_w"].value / 1000 * 1.5 * 0.3
    bought = plan.figures["usd"].value if "usd" in plan.figures else 0.0
    hours = 2 * 8766 * 0.5
    hour = plan.supply.usd_per_h.value if plan.supply.how == "rent" else power + bought / hours
    assert plan.figures["usd_per_h"].value == pytest.approx(hour)
    assert plan.figures["usd_total"].value == pytest.approx(hour * hours)
    per_mtok = hour / (plan.figures["output_tok_per_s"].value * 3600) * 1e6
    assert plan.figures["usd_per_mtok"].value == pytest.approx(per_mtok, rel=0.01)


def test_the_prices_of_the_user_go_before_all(market):
    mine = Price(chip="rtx-3090", kind="own", typical=1.0, as_of="2026-11-21", source="x", confidence="high")
    with use(("mine", {mine.chip: (mine,)})):
        assert market_on(TODAY).cards["rtx-3090"].usd == 1
    assert market.cards["rtx-3090"].usd > 1


def test_a_buyer_in_yuan_sees_the_prices_of_china():
    there, here = market_on(TODAY, currency="CNY"), market_on(TODAY)
    assert there.cards["h100-sxm5-80gb"].currency == "CNY"
    assert here.cards["h100-sxm5-80gb"].currency == "USD"
    assert there.cards["rtx-5080"].currency == "USD", "nobody there says"


def test_nobody_is_offered_a_room_of_desktop_cards_unasked(market):
    most = {
        kind.chip.segment: max(kind.counts)
        for kind in kinds_of(PlanWish(), counts=tuple(range(1, 65)), market=market)
    }
    assert most["consumer"] <= 4
    assert most["workstation"] <= 8
    (asked,) = kinds_of(PlanWish(chips=("rtx 4090",)), counts=(1, 64), market=market)
    assert max(asked.counts) == 64
    assert by_id()["rtx-4090"].segment == "consumer"


def test_clouds_of_china_rent_to_those_who_pay_in_yuan(llama8):
    market = market_on(TODAY, currency="CNY")
    rents = {
        currency: {
            offer.currency
            for kind in question_of(llama8, market, currency=currency).kinds
            for offer in offers_of(market, kind.chip.id, wish=PlanWish(currency=currency))
        }
        for currency in ("USD", "CNY", "EUR")
    }
    assert rents == {"USD": {"USD"}, "CNY": {"CNY"}, "EUR": {"USD"}}
    plan = first_of(llama8, market, users=8, currency="CNY", buy=False)
    assert plan.supply.how == "rent"
    named = first_of(llama8, market, users=8, currency="CNY", clouds=("runpod",))
    assert "runpod" in named.supply.label


def test_what_is_billed_by_the_gpu_costs_each_and_holds_as_many_as_a_machine(llama8):
    market = market_on(TODAY, currency="CNY")
    question = question_of(llama8, market, currency="CNY", clouds=("autodl",), chips=("rtx 4090",))
    rent = prices_of(question, asked=range(13)).rent_usd_per_h[0]
    one = rent[SIZES.index(1), 1]
    assert one == pytest.approx(1.98 / currencies()["CNY"].per_usd)
    assert rent[SIZES.index(8), 8] == pytest.approx(8 * one), "a replica over eight of one machine"
    assert np.isnan(rent[SIZES.index(9), 9]), "no fast network joins two machines"
    supply = supply_of(question, question.kinds[0], how=RENT, n_chips=4, replica=4)
    assert supply.label == "autodl 4x RTX 4090"
    assert supply.n_units == 1
    assert supply.usd_per_h.value == pytest.approx(4 * one)


def test_a_gpu_is_no_name_of_an_instance():
    for offer in offers():
        if offer.most_chips is not None:
            assert offer.most_chips >= offer.n_chips == 1
            assert find_instance(offer.instance) is None
            price, spot = (
                (offer.native_per_h, offer.spot_native_per_h)
                if offer.usd_per_h is None
                else (offer.usd_per_h, offer.spot_usd_per_h)
            )
            assert price > 0
            assert spot is None or spot <= price


def test_few_reasons_each_about_another_card(llama8, market):
    found = find(llama8, PlanWish(users=8, **WORK), market=market)
    assert len(found.rejections) <= 3
    labels = [one.label for one in found.rejections]
    assert len(set(labels)) == len(labels)
    without_price = [one for one in found.rejections if one.limit == "price"]
    assert len(without_price) <= 1


def test_reasons_name_money_in_the_currency_that_was_asked_in(llama8, market):
    wish = PlanWish(users=8, budget_usd=1.0, currency="CNY", buy=True, chips=("rtx 3090",), **WORK)
    found = find(llama8, wish, market=market)
    told = [dict(one.reason.values) for one in found.broken if one.limit == "usd"]
    assert told
    assert told[0]["bound"].startswith("¥")


def test_a_price_that_nobody_asks_is_for_those_who_name_the_machine(llama8, market):
    """An M4 Max is made no more, and no used price is known: reckoned for who asks for it, never proposed."""
    chip = by_id()["apple-m4-max-32c"]
    assert market.quote(chip) is None
    assert market.quote(chip, guess=True).mark == "fitted"
    assert chip.id not in market.cards
    named = first_of(llama8, market, users=1, on="m4 max 32c")
    assert named.supply.usd.value == market.quote(chip, guess=True).usd
    anything = find(llama8, PlanWish(users=4, **WORK), market=market)
    assert all(plan.supply.how == "rent" or plan.chip.id in market.cards for plan in anything.plans)


def test_a_price_that_names_no_memory_is_that_of_the_least():
    """A Mac of 192 GB does not cost what some Mac of its chip once went for."""
    silent = [price for price in prices() if price.mem_bytes is None]
    for price in silent:
        chip = by_id()[price.chip]
        if len(chip.mem_options_bytes) > 1:
            sizes = sorted(chip.mem_options_bytes)
            assert price in newest_prices(with_memory(chip, sizes[0]), used=price.kind == "used")
            for size in sizes[1:]:
                assert price not in newest_prices(with_memory(chip, size), used=price.kind == "used")


def test_what_new_software_has_left_behind_is_sold_to_who_asks_for_it(market):
    known = {kind.chip.id for kind in kinds_of(PlanWish(), counts=(1,), market=market)}
    asked = {kind.chip.id for kind in kinds_of(PlanWish(used=True), counts=(1,), market=market)}
    left = {chip.id for chip in chips() if chip.isa in {"5.2", "6.1", "7.0", "gfx906"}}
    assert not left & known
    assert left & asked
    assert known < asked
    assert [
        kind.chip.id for kind in kinds_of(PlanWish(chips=("tesla p40",)), counts=(1,), market=market)
    ] == ["tesla-p40"]


@pytest.mark.parametrize(("model", "budget"), [("qwen3-32b", 2000.0), ("llama-3.3-70b", 4000.0)])
def test_a_budget_buys_no_better_weights_at_a_crawl(market, model, budget):
    """Where some plan is half as fast as is enough (20 tok/s), the first is."""
    found = find(open_model(model), PlanWish(work="chat", buy=True, budget_usd=budget), market=market)
    rates = [1 / plan.figures["tpot_s"].value for plan in found.plans]
    assert max(rates) > 10
    assert rates[0] > 10
