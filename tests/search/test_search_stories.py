"""People ask for machines; what they are told can be used, and says why."""

from __future__ import annotations

import pytest

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.words import OF_PRICE, tell
from rigright.demand import PlanWish
from rigright.report.pages import plan_words
from rigright.search.find import find
from rigright.search.named import machine_flag
from rigright.search.serving import find_serving
from spoken import shown

WORK = {"prompt_tok": 2048, "output_tok": 512}


def story(found):
    return [str(one.reason) for one in (*found.rejections, *found.broken)]


def test_an_engineer_has_eight_h100_and_two_limits(llama70, market):
    wish = PlanWish(on="8x h100", ttft_s=1, tpot_s=0.05, **WORK)
    found = find_serving(llama70, wish, market=market)
    first = found.plans[0]
    assert first.n_chips <= 8
    assert first.figures["ttft_s"].value <= 1
    assert first.figures["tpot_s"].value <= 0.05
    assert first.work.weights == "bf16", "the machine is paid for: no quality is given up"
    assert first.n_chips == 8
    assert first.layout.tp * first.layout.pp * first.layout.dp == first.n_chips
    assert first.supply.as_of is not None
    assert len({(plan.work.weights, plan.supply.how) for plan in found.plans}) == len(found.plans)


def test_the_owner_of_two_3090_pays_for_power_alone(llama70, market):
    found = find_serving(llama70, PlanWish(work="chat", owned="2x rtx 3090"), market=market)
    first = found.plans[0]
    assert first.supply.how == "own"
    assert first.supply.usd is None
    assert first.work.weights in {"gguf:Q4_K_M", "awq4"}, "nothing wider fits two 24 GB cards with a context"
    assert first.layout.pp * first.layout.tp == 2
    assert 0.01 < first.figures["usd_per_h"].value < 0.5
    assert any("per GPU, it has" in sentence for sentence in story(found))


def test_unlike_cards_work_together(llama70, market):
    """A 3090 and a 4090 hold together what neither holds alone; the larger part of the work sets the pace."""
    found = find_serving(llama70, PlanWish(work="chat", on="rtx 3090 + rtx 4090"), market=market)
    both = found.plans[0]
    assert both.n_chips == 2
    assert len(both.memory) == 2
    assert "3090" in both.supply.label
    assert "4090" in both.supply.label
    assert both.supply.usd is not None
    alone = {
        name: find_serving(
            llama70, PlanWish(work="chat", on=f"2x {name}", engines=("llama.cpp",)), market=market
        ).plans[0]
        for name in ("rtx 3090", "rtx 4090")
    }
    pace = sorted(plan.figures["tpot_s"].value for plan in alone.values())
    assert pace[0] <= both.figures["tpot_s"].value <= pace[1] * 1.01


def test_a_whole_catalogue_for_twenty_users(llama8, market):
    found = find_serving(llama8, PlanWish(users=20, ttft_s=2, tpot_s=0.05, **WORK), market=market)
    assert found.chips > 190
    assert found.looked_at > 10_000
    assert 1 < len(found.plans) <= 5
    chips = [plan.chip.id for plan in found.plans]
    assert len(set(chips)) >= len(chips) - 1, "not five variants of one"
    prices = [plan.figures["usd_per_h"].value for plan in found.plans]
    assert all(plan.reasons for plan in found.plans)
    cheapest = prices.index(min(prices))
    for place, plan in enumerate(found.plans):
        told = [str(one) for one in plan.reasons]
        assert ("cheapest that meets every limit" not in told) or place == cheapest
        assert not str(plan_words.why(plan)).startswith("cheaper") or prices[place] < prices[0]
    assert found.rejections, "something cheaper was looked at and told"


def test_only_one_cloud(llama8, market):
    found = find_serving(llama8, PlanWish(clouds=("aws",), users=20, **WORK), market=market)
    assert found.plans
    for plan in found.plans:
        assert plan.supply.how == "rent"
        assert "aws" in plan.supply.label
        assert plan.supply.usd_per_h is not None


def test_spot_hours_cost_less(llama8, market):
    wish = {"clouds": ("gcp",), "chips": ("l4",), "users": 20, **WORK}
    hours = [
        find_serving(llama8, PlanWish(spot=spot, **wish), market=market).plans[0].figures["usd_per_h"].value
        for spot in (False, True)
    ]
    assert hours[1] < hours[0]


def test_a_budget_nothing_fits_is_answered_with_the_nearest(llama70, market):
    found = find_serving(
        llama70, PlanWish(users=64, budget_usd=300, chips=("rtx 3090", "l40s", "h100"), **WORK), market=market
    )
    assert not found.plans
    assert found.nearest is not None
    assert found.broken
    assert found.broken[0].limit == "usd"
    assert found.broken[0].nearest > 300
    assert "$300" in story(found)[0]
    assert "300" in tell(found.broken[0].reason, "zh")


def test_a_first_token_below_physics(llama70, market):
    found = find_serving(llama70, PlanWish(on="8x h100", ttft_s=0.001, users=1, **WORK), market=market)
    assert not found.plans
    assert {one.limit for one in found.broken} == {"ttft_s"}
    assert found.nearest.figures["ttft_s"].value == pytest.approx(found.broken[0].nearest)


def test_a_model_no_card_holds(llama70, market):
    found = find_serving(llama70, PlanWish(on="1x rtx 3060", **WORK), market=market)
    assert not found.plans
    assert found.nearest is None
    assert found.broken[0].limit == "memory"
    assert "GiB" in story(found)[0]


def test_an_old_chip_has_no_fp8(llama8, market):
    found = find_serving(
        llama8, PlanWish(chips=("v100", "h100"), weights=("fp8",), users=4, **WORK), market=market
    )
    assert {plan.chip.architecture for plan in found.plans} == {"Hopper"}
    assert [one.limit for one in found.rejections if "V100" in one.label] == ["format"]
    with pytest.raises(AskError, match=r"vllm .* not run fp8 .* on V100 .*: fp16"):
        find_serving(llama8, PlanWish(chips=("v100",), weights=("fp8",), **WORK), market=market)


def test_a_licence_that_the_weights_do_not_have(llama8, market):
    found = find_serving(llama8, PlanWish(licence="apache", **WORK), market=market)
    assert not found.plans
    assert found.broken[0].limit == "licence"


def test_no_price_is_no_bargain(llama8, market):
    """A chip nobody sells here stands behind those with a price, and says so when it is all there is."""
    alone = find_serving(llama8, PlanWish(on="1x b100", users=1, **WORK), market=market).plans[0]
    assert "usd" not in alone.figures
    assert "usd_per_h" not in alone.figures
    assert OF_PRICE in {note.kind for note in alone.notes}
    both = find_serving(llama8, PlanWish(chips=("b100", "h100"), users=1, **WORK), market=market)
    assert both.plans[0].chip.id.startswith("h100")


def test_old_prices_say_so(llama8, market):
    plan = find_serving(
        llama8, PlanWish(chips=("rtx 5070 ti",), buy=True, users=2, **WORK), market=market
    ).plans[0]
    assert plan.supply.stale
    assert plan.supply.as_of in " ".join(str(note) for note in plan.notes)
    assert plan.figures["usd"].as_of == plan.supply.as_of
    card, whole = plan.supply.usd, plan.figures["usd"]
    assert card.high > 1.2 * card.value
    assert whole.high - whole.value >= card.high - card.value, "an old card is no surer in a machine"


def test_models_may_grow(llama8, market):
    wish = {"users": 4, "chips": ("rtx 4090",), **WORK}
    now = find_serving(llama8, PlanWish(**wish), market=market).plans[0]
    later = find_serving(llama8, PlanWish(grows_to="70B", **wish), market=market)
    assert later.plans[0].n_chips > now.n_chips
    by_name = find_serving(llama8, PlanWish(grows_to="llama-3.1-70b", **wish), market=market)
    assert abs(by_name.plans[0].n_chips - later.plans[0].n_chips) <= 1, "70.6 billion are not 70"


def test_requests_that_arrive(llama8, market):
    """An open load: more traffic takes at least as much machine, and one card is overrun at some rate."""
    rates = [1, 4, 16, 64]
    found = [
        find_serving(llama8, PlanWish(chips=("rtx 4090",), rate_per_s=rate, ttft_s=5, **WORK), market=market)
        for rate in rates
    ]
    counts = [one.plans[0].n_chips if one.plans else 1000 for one in found]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    for rate, one in zip(rates, found, strict=True):
        for plan in one.plans:
            assert plan.figures["requests_per_s"].value == pytest.approx(rate, rel=1e-6)
            assert plan.concurrency is None


def test_what_was_not_said_is_said_back(llama8, market):
    found = find(llama8, PlanWish(work="chat", on="1x rtx 4090"), market=market)
    told = [text for note in found.notes for text in shown(note)]
    assert {"1,024", "512", "8,192"} <= set(told)
    assert tell(found.notes[0], "zh") != str(found.notes[0])


def test_a_batch_waits_for_nobody(llama8, market):
    """Offline work takes the machine that makes most tokens for the money; nobody looks at first tokens."""
    serve = find(llama8, PlanWish(chips=("l40s",), **WORK), market=market).plans[0]
    batch = find(llama8, PlanWish(work="batch", chips=("l40s",), **WORK), market=market).plans[0]
    assert batch.figures["usd_per_mtok"].value <= serve.figures["usd_per_mtok"].value


def test_an_unknown_work(llama8, market):
    with pytest.raises(AskError, match="pretrain"):
        find(llama8, PlanWish(work="dance"), market=market)


def test_experts_may_be_spread(market, mixtral):
    found = find_serving(mixtral, PlanWish(on="8x h100", users=64, **WORK), market=market)
    assert found.plans[0].n_chips <= 8
    assert found.plans[0].layout.ep in {1, 2, 4, 8}


def test_an_encoder_is_planned_by_its_samples(market):
    """A model that writes nothing has no first token: it is planned by samples a second."""
    found = find(open_model("bert-base-uncased"), PlanWish(on="1x t4", rate_per_s=10), market=market)
    assert found.plans[0].figures["texts_per_s"].value > 10
    assert "tpot_s" not in found.plans[0].figures


def test_aims_change_what_comes_first(llama8, market):
    wish = {"chips": ("rtx 4090", "h100"), "users": 8, **WORK}
    cheap = find(llama8, PlanWish(**wish), market=market).plans[0]
    quick = find(llama8, PlanWish(aim="latency", **wish), market=market).plans[0]
    frugal = find(llama8, PlanWish(aim="power", **wish), market=market).plans[0]
    assert quick.figures["tpot_s"].value < cheap.figures["tpot_s"].value
    assert frugal.figures["power_w"].value <= min(
        quick.figures["power_w"].value, cheap.figures["power_w"].value
    )
    with pytest.raises(AskError, match="quality"):
        find(llama8, PlanWish(aim="beauty", **wish), market=market)


def test_cards_of_slots_are_not_strung_over_boxes(market):
    """A pipeline over several boxes wants a network that nobody has at home."""
    found = find(open_model("deepseek-v3"), PlanWish(users=16), market=market)
    for plan in found.plans:
        if plan.chip.segment != "datacenter":
            assert plan.layout.tp * plan.layout.pp <= 8


def test_packed_files_are_run_as_they_are(market):
    found = find(
        open_model("qwen2.5-7b-instruct-awq"), PlanWish(work="chat", on="1x rtx 3060"), market=market
    )
    assert found.plans[0].work.weights == "awq4"


def test_what_has_no_price_and_what_a_cloud_lacks_is_told(llama8, market):
    found = find(llama8, PlanWish(chips=("b100", "h100"), users=4, **WORK), market=market)
    assert [one.label for one in found.rejections if one.limit == "price"] == ["B100 SXM"]
    rented = find(llama8, PlanWish(chips=("mi300x", "h100"), clouds=("gcp",), users=4, **WORK), market=market)
    assert any("MI300X" in one.label for one in rented.rejections if one.limit == "cloud")
    assert "gcp" in " ".join(story(rented))


def test_of_all_that_is_overrun_the_one_that_carries_most_is_nearest(llama8, market):
    """No number of cards carries it: the verdict is not the smallest machine, and says how far it is."""
    found = find(llama8, PlanWish(on="8x h100", rate_per_s=500, ttft_s=2, **WORK), market=market)
    assert not found.plans
    assert found.nearest.n_chips == 8
    assert found.broken[0].limit == "requests_per_s"
    assert 50 < found.broken[0].nearest < 500


def test_of_an_impossible_wish_the_cheapest_of_near_equals(llama70, market):
    """Nothing starts in a microsecond; sixty-four of the fastest cards are no answer to that."""
    found = find_serving(
        llama70, PlanWish(ttft_s=1e-6, users=8, chips=("l40s", "h100", "h200"), **WORK), market=market
    )
    assert not found.plans
    assert found.nearest.n_chips <= 8
    assert "usd_per_h" in found.nearest.figures


@pytest.mark.parametrize(
    ("model", "wish", "chip"),
    [
        ("llama-3.3-70b", PlanWish(on="1x rtx 3090", **WORK), "rtx-3090"),
        ("deepseek-v3", PlanWish(on="2x rtx 4090", **WORK), None),
    ],
    ids=["more of them do", "another machine"],
)
def test_what_does_not_fit_is_answered_with_what_does(market, model, wish, chip):
    found = find_serving(open_model(model), wish, market=market)
    assert not found.plans
    other = found.instead
    assert chip is None or (other.chip.id == chip and other.n_chips > 1)
    assert chip is not None or (other.n_nodes == 1 and (other.host or other.chip.id != "rtx-4090"))
    again = find_serving(open_model(model), PlanWish(on=machine_flag(other), **WORK), market=market)
    assert again.plans, "the command that is told next gives plans"
