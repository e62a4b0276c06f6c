"""`cost`: machines, plans and models over years, against sheets worked by hand."""

from __future__ import annotations

import json

import pytest

from rigright.base.errors import AskError
from rigright.demand import CostWish, PlanWish
from rigright.faces.cli.main import main
from rigright.facts.chips import chips
from rigright.report.pages import cost as pages
from rigright.verbs.cost import cost as cost_verb
from rigright.verbs.costing import API, BUY, OWN, RENT, REPLACE, RESERVED, SPOT
from rigright.verbs.own import use as use_prices
from sampled_tables import THOROUGH, whole_when_thorough

HOURS = 730.5  # of a month


@pytest.fixture
def own_prices(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("chip,usd\nrtx 4090,1500\nh100 sxm,25000\n")
    with use_prices(str(path)):
        yield str(path)


@pytest.fixture(scope="module")
def pair():
    return cost_verb("2x rtx 4090", wish=PlanWish(place="US-CA", years=3))


def test_the_sheet_of_two_cards_by_hand(own_prices):
    """Two cards at 1,500 and the host; watts x 730.5 h x duty x tariff; what waits draws its idle watts."""
    wish = PlanWish(tariff_usd_per_kwh=0.2, pue=1.5, years=2, duty=0.25, prices_file=own_prices)
    found = cost_verb("2x rtx 4090", wish=wish, spend=CostWish(space_usd=30, people_usd=100, upkeep=0.06))
    own = found.way(BUY)
    (term,) = own.ledger.terms
    assert found.cards_usd.value == pytest.approx(3000)
    price = 3000 + found.host_usd.value
    assert term.upfront.value == pytest.approx(price)
    power = found.power_w.value / 1000 * HOURS * 0.25 * 1.5 * 0.2
    idle = found.idle_w / 1000 * HOURS * 0.75 * 1.5 * 0.2
    assert term.monthly["power"].value == pytest.approx(power)
    assert term.monthly["idle"].value == pytest.approx(idle)
    month = power + idle + 30 + 100 + price * 0.06 / 12
    assert sum(one.value for one in term.monthly.values()) == pytest.approx(month)
    assert own.ledger.total.value == pytest.approx(price + 24 * month - own.ledger.resale.value)
    assert found.kwh_per_month == pytest.approx((power + idle) / 0.2)
    rent = found.way(RENT)
    hour = rent.ledger.terms[0].monthly["rent"].value / HOURS / 0.25
    assert rent.ledger.total.value == pytest.approx(24 * HOURS * 0.25 * hour)
    saved = HOURS * 0.25 * hour - month
    if saved > 0:
        assert rent.payback.months == pytest.approx(price / saved)


def test_every_chance_is_one(pair):
    assert [way.kind for way in pair.cost_ways][:2] == [BUY, RENT]
    for way in pair.cost_ways:
        total = way.ledger.total
        assert total.low <= total.value <= total.high
        if way.kind != BUY:
            assert 0 <= way.payback.share <= 1
            assert 0 <= way.buy_is_cheaper <= 1


def test_carbon_is_kilowatt_hours_by_the_grams_of_the_place(pair):
    assert pair.carbon_kg == pytest.approx(pair.kwh_per_month * 36 * pair.carbon.value / 1000)
    assert cost_verb("rtx 4090").carbon_kg is None


def test_a_home_and_a_company_pay_their_own_tariffs():
    home, company = (cost_verb(name, wish=PlanWish(place="DE")) for name in ("rtx 4090", "8x h100"))
    assert home.tariff.usd_per_kwh == pytest.approx(0.356 / 0.86)
    assert company.tariff.usd_per_kwh == pytest.approx(0.18 / 0.86)


def test_whose_tariff_it_is_can_be_said():
    wish = PlanWish(place="DE", customer="company")
    assert cost_verb("rtx 4090", wish=wish).tariff.usd_per_kwh == pytest.approx(0.18 / 0.86)


def test_a_machine_that_is_there_costs_its_power_alone():
    found = cost_verb("2x rtx 3090", wish=PlanWish(owned="2x rtx 3090", tariff_usd_per_kwh=0.3))
    kept = found.way(OWN)
    assert found.way(BUY) is None
    assert kept.ledger.terms[0].upfront.value == 0
    assert kept.ledger.total.value == pytest.approx(36 * found.power_w.value / 1000 * HOURS * 0.3)
    assert all(way.payback is None and way.buy_is_cheaper > 0.5 for way in found.cost_ways if way.kind != OWN)


def test_buying_is_held_against_the_cheapest_that_lasts():
    wish = PlanWish(users=20, on="2x rtx 4090")
    dear, cheap = (
        cost_verb("llama-3.1-8b", wish=wish, spend=CostWish(api_usd_per_mtok=usd))
        for usd in ((1.0, 2.0), (0.001, 0.002))
    )
    assert dear.other.kind == RENT
    assert cheap.other.kind == API
    assert cheap.other.buy_is_cheaper < 0.5
    assert pages.verdict(dear).text.text != pages.verdict(cheap).text.text, "one is bought, one is not"


def test_contracts_are_paid_for_hours_that_nobody_uses():
    busy, lazy = (cost_verb("8x h100", wish=PlanWish(duty=duty)) for duty in (1.0, 0.1))
    assert lazy.way(RESERVED).ledger.total.value == pytest.approx(busy.way(RESERVED).ledger.total.value)
    assert lazy.way(RENT).ledger.total.value == pytest.approx(busy.way(RENT).ledger.total.value / 10)
    assert lazy.way(RENT).payback.share < busy.way(RENT).payback.share


def test_more_years_and_dearer_power_never_cost_less():
    totals = [
        [
            cost_verb("8x h100", wish=PlanWish(years=years, tariff_usd_per_kwh=tariff)).way(BUY)
            for tariff in (0.05, 0.4)
        ]
        for years in (1, 5)
    ]
    values = [[way.ledger.total.value for way in row] for row in totals]
    assert all(cheap <= dear for cheap, dear in values)
    assert values == sorted(values)


def test_replacing_is_buying_twice_and_selling_once(own_prices):
    wish = PlanWish(prices_file=own_prices, years=4)
    found = cost_verb("2x rtx 4090", wish=wish, spend=CostWish(after_years=2, then="8x h100"))
    first, later = found.way(REPLACE).ledger.terms
    assert later.start == 24
    assert later.upfront.value > 200_000
    assert later.monthly["power"].value > first.monthly["power"].value
    same = cost_verb("2x rtx 4090", wish=wish, spend=CostWish(after_years=2)).way(REPLACE).ledger.terms[1]
    assert same.upfront.value == pytest.approx(first.upfront.value)
    assert same.upfront.high > first.upfront.high, "nobody knows the price of 2028"


def test_the_same_machine_is_replaced_again_and_again(own_prices):
    wish = PlanWish(prices_file=own_prices, years=5)
    found = cost_verb("2x rtx 4090", wish=wish, spend=CostWish(after_years=2))
    terms = found.way(REPLACE).ledger.terms
    assert [term.start for term in terms] == [0, 24, 48]
    bought, resold = (sum(getattr(term, name).value for term in terms) for name in ("upfront", "resale"))
    monthly = sum(one.value for one in terms[0].monthly.values())
    assert found.way(REPLACE).ledger.total.value == pytest.approx(bought + 60 * monthly - resold)
    assert bought == pytest.approx(3 * terms[0].upfront.value)


def test_worth_falls_year_by_year(pair):
    values = [one.value for one in pair.worth_usd]
    assert len(values) == 4
    assert values == sorted(values, reverse=True)
    assert values[3] == pytest.approx(pair.way(BUY).ledger.resale.value)


def test_sixteen_cards_are_two_machines_and_a_network_that_is_not_counted():
    many, eight = (cost_verb(f"{count}x h100") for count in (16, 8))
    (more,) = set(map(str, pages.assumed(many))) - set(map(str, pages.assumed(eight)))
    assert " 2 " in more, "the network between 2 machines"
    assert many.boxes == 2
    assert many.power_w.value == pytest.approx(2 * eight.power_w.value)
    assert many.host_usd.value == pytest.approx(2 * eight.host_usd.value)


def test_an_api_is_paid_by_the_token(own_prices):
    """2 million output tokens a month, and 4 prompt tokens for each: 8 x 0.1 + 2 x 0.4 = 1.60 a month."""
    wish = PlanWish(prices_file=own_prices)
    spend = CostWish(api_usd_per_mtok=(0.1, 0.4), mtok_per_month=2)
    found = cost_verb("2x rtx 4090", wish=wish, spend=spend)
    api = found.way(API)
    assert api.ledger.total.value == pytest.approx(36 * 1.6)
    assert found.usd_per_mtok(api).value == pytest.approx(0.8)
    with pytest.raises(AskError):
        cost_verb("2x rtx 4090", wish=wish, spend=CostWish(api_usd_per_mtok=(0.1, 0.4)))


def test_a_model_is_costed_by_its_plan(llama_pair):
    made = llama_pair.output.output_tok
    own = llama_pair.way(BUY)
    assert llama_pair.usd_per_mtok(own).value == pytest.approx(own.ledger.total.value / (36 * made) * 1e6)
    half = CostWish(mtok_per_month=made / 1e6 / 2)
    less = cost_verb("2x rtx 4090", model="llama-3.1-8b", wish=PlanWish(users=20), spend=half)
    assert less.duty == pytest.approx(0.5)


@pytest.fixture(scope="module")
def llama_pair():
    return cost_verb("2x rtx 4090", model="llama-3.1-8b", wish=PlanWish(users=20))


def test_more_tokens_than_it_makes_are_refused(llama_pair):
    too_many = CostWish(mtok_per_month=llama_pair.output.output_tok / 1e6 * 2)
    with pytest.raises(AskError, match="--mtok"):
        cost_verb("2x rtx 4090", model="llama-3.1-8b", wish=PlanWish(users=20), spend=too_many)


def test_a_plan_in_a_file_is_costed_as_the_model(tmp_path, capsys):
    assert (
        main(["plan", "llama-3.1-8b", "--on", "2x rtx 4090", "--users", "20", "--years", "2", "--json"]) == 0
    )
    file = tmp_path / "plan.json"
    file.write_text(capsys.readouterr().out)
    assert main(["cost", "--from", str(file), "--json"]) == 0
    filed = json.loads(capsys.readouterr().out)
    asked = ["cost", "llama-3.1-8b", "--on", "2x rtx 4090", "--users", "20", "--years", "2", "--json"]
    assert main(asked) == 0
    named = json.loads(capsys.readouterr().out)
    assert filed["months"] == named["months"] == 24
    for way, own in zip(filed["ways"], named["ways"], strict=True):
        for end in ("value", "low", "high"):
            assert way["total_usd"][end] == pytest.approx(own["total_usd"][end], rel=1e-9)
    assert filed["output"]["output_tok"] == pytest.approx(named["output"]["output_tok"])


def test_a_training_run_costs_its_hours():
    wish = PlanWish(work="finetune", train_tok=1e9, on="8x h100")
    found = cost_verb("llama-3.1-8b", wish=wish)
    rent = found.way(RENT)
    hour = rent.ledger.terms[0].monthly["rent"].value / HOURS
    assert found.usd_per_run(rent).value == pytest.approx(hour * found.output.run_h)


WRONG = (  # what is typed, and a name or an example that the refusal holds
    (["2x rtx 4090", "--years", "-3"], "--years is -3"),
    (["2x rtx 4090", "--duty", "140%"], "140%"),
    (["2x rtx 4090", "--place", "Gwangdong"], "Guangdong"),
    (["2x rtx 4090", "--tariff", "3 doubloons"], "doubloons"),
    (["2x rtx 4090", "--tariff", "3 XAU"], '"XAU"; '),
    (["2x rtx 4090", "--space", "qqq 300"], "USD, CNY, EUR"),
    (["2x rtx 4090", "--currency", "XYZ"], "USD, CNY, EUR"),
    (["2x rtx 4090", "--users", "3"], "--for MODEL"),
    (["2x rtx 4090", "--then", "8x h100"], "--after"),
    (["2x rtx 4090", "--after", "5"], "--years"),
    (["2x rtx 4090", "--after", "0.001"], "--after"),
    (["2x rtx 4090", "--place", "DE", "--tariff", "0.2"], "--place and --tariff"),
    (["2x rtx 4909"], "4090"),
    (["gaudi2"], "--prices"),
    (["aws"], "aws:p5.48xlarge"),
    (["2x rtx 4090", "--customer", "home"], "--place"),
    (["2x rtx 4090", "--place", "DE", "--customer", "me"], "home, company"),
    ([], "2x rtx 4090"),
    ([""], "2x rtx 4090"),
)


def test_wrong_asks_say_what_to_type(capsys):
    for typed, told in WRONG:
        assert main(["cost", *typed]) == 2, typed
        refused = capsys.readouterr()
        assert not refused.out, typed
        assert told in refused.err, typed


def test_a_chinese_place_is_answered_in_yuan(capsys):
    for language in ("en", "zh"):
        assert main(["cost", "8x h100", "--place", "广东", "--lang", language]) == 0
        shown = capsys.readouterr().out
        assert "¥" in shown, language
        assert shown.startswith(("✓", "!")), language


def test_names_of_places_and_clouds_are_those_of_the_reader(capsys):
    asked = ["cost", "2x rtx 4090", "--place", "Guangdong", "--customer", "company", "--details"]
    for language, names in (("zh", ("广东", "算家云")), ("en", ("China", "Suanjiayun"))):
        assert main([*asked, "--lang", language]) == 0
        shown = capsys.readouterr().out
        assert all(name in shown for name in names), language


def test_the_sheet_for_a_spreadsheet_has_a_row_a_month(pair):
    (table,) = pages.sheet(pair).parts
    assert len(table.rows) == 37
    assert float(table.rows[-1][1]) == pytest.approx(pair.way(BUY).ledger.paid(36).value, abs=0.01)


def test_spot_alone_and_rent_alone():
    assert {way.kind for way in cost_verb("8x h100", wish=PlanWish(spot=True, buy=False)).cost_ways} == {SPOT}
    assert BUY not in {way.kind for way in cost_verb("8x h100", wish=PlanWish(buy=False)).cost_ways}
    assert {way.kind for way in cost_verb("8x h100", wish=PlanWish(buy=True)).cost_ways} == {BUY}


def test_a_machine_whose_watts_nobody_says_is_costed_without_them():
    found = cost_verb("mac studio m5 max 64gb")
    assert found.power_w.value == 0
    assert any(found.machine in str(note) for note in found.notes), "what is not counted is named"


def test_what_is_rented_abroad_alone_is_said_to_be():
    found = cost_verb("8x h20")
    assert found.way(RENT).currency == "CNY"
    cloud = found.way(RENT).label.lower()
    assert any(cloud in str(said).lower() for said in pages.assumed(found))
    own = cost_verb("8x h20", wish=PlanWish(currency="CNY"))
    assert not any(cloud in str(said).lower() for said in pages.assumed(own))


def test_a_used_price_that_nobody_says_is_reckoned_and_said_to_be():
    found = cost_verb("rtx 4060 ti 16gb")
    assert found.used
    assert found.notes, "nobody says it"
    assert not cost_verb("rtx 3090").notes, "somebody does"
    assert found.cards_usd.value < 425, "the last new one cost 400 to 450"


@whole_when_thorough
def test_every_machine_with_a_price_can_be_costed():
    """No chip of the market breaks the sum, and no total says less than nothing."""
    for chip in chips()[:: 1 if THOROUGH else 24]:
        try:
            found = cost_verb(chip.id, wish=PlanWish(place="US"))
        except AskError:
            continue
        for way in found.cost_ways:
            total = way.ledger.total
            assert total.low <= total.value <= total.high, chip.id
            assert total.high > 0, chip.id
            assert way.kind != BUY or way.ledger.total.low > -0.1 * found.up_front.value, chip.id


@pytest.mark.parametrize(
    ("model", "unit"), [("whisper-large-v3", "audio_h"), ("bge-m3", "texts"), ("flux.1-dev", "images")]
)
def test_what_makes_no_text_is_paid_for_in_its_own_unit(model, unit):
    found = cost_verb(model, wish=PlanWish(on="rtx 4090"))
    way = found.way(BUY)
    assert found.output.unit == unit
    assert found.usd_per_mtok(way) is None
    each = way.ledger.total.value / (found.output.units * found.months)
    assert found.usd_per_unit(way).value == pytest.approx(each)
