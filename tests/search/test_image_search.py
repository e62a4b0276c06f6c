"""Machines for networks of images: as many as the rate asks, as soon as somebody waits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.choice.networks import network_of
from rigright.cost.images import ImageRun
from rigright.demand import PlanWish, ServingWish, Size
from rigright.facts.units import sold_count
from rigright.predict.samples import batch_time, network_rates
from rigright.search.find import find
from rigright.verbs.explain import explain


@pytest.fixture(scope="module")
def resnet():
    return open_model("resnet50")


@pytest.fixture(scope="module")
def xl():
    return open_model("sdxl")


def test_a_shop_sorts_pictures(resnet, market):
    found = find(resnet, PlanWish(work="image", rate_per_s=2000), market=market)
    for plan in found.plans:
        assert plan.figures["images_per_s"].value >= 2000
        assert plan.n_chips * plan.work.batch // plan.layout.dp == plan.work.batch
    assert any(one.limit == "images_per_s" and one.nearest < 2000 for one in found.rejections)


def test_a_painter_waits_for_one_picture(xl, market):
    wish = PlanWish(work="image", on="1x rtx 4090", picture=Size.square(1024))
    first = find(xl, wish, market=market).plans[0]
    run = ImageRun(compiled=first.work.compiled)
    network = network_of(xl, picture=Size.square(1024))
    told = batch_time(network, network_rates(network, [first.chip], run=run), batch=first.work.batch)
    took_s = float(told.total_s[0])
    assert first.figures["latency_s"].value == pytest.approx(took_s)
    assert first.figures["images_per_s"].value == pytest.approx(first.work.batch / took_s)
    assert first.rank_bytes.value < first.room_bytes


def test_a_wait_below_physics_is_told(xl, market):
    found = find(xl, PlanWish(work="image", on="1x rtx 3060", latency_s=0.01), market=market)
    assert not found.plans
    assert [one.limit for one in found.broken] == ["latency_s"]
    assert found.nearest.work.batch == 1, "a batch of one is soonest"


def test_a_small_budget_packs_a_painter(market):
    """16 bit fits cards that cost more: 4 bit on a card within the budget is the answer."""
    flux = open_model("flux.1-dev")
    dear = find(flux, PlanWish(buy=True, budget_usd=20_000), market=market).plans[0]
    cheap = find(flux, PlanWish(buy=True, budget_usd=2_000), market=market).plans[0]
    assert dear.work.weights in {"fp16", "bf16"}
    assert cheap.work.weights in {"int8", "fp8", "nf4"}
    assert cheap.figures["usd"].value <= 2_000
    nearest = find(flux, PlanWish(buy=True, budget_usd=300), market=market).nearest
    assert nearest.figures["usd"].value <= cheap.figures["usd"].value


@given(rate=st.floats(1, 1e5), more=st.floats(1, 10))
@few
def test_more_pictures_never_cost_less(resnet, market, rate, more):
    plans = [
        find(resnet, PlanWish(work="image", chips=("l4", "t4"), rate_per_s=one), market=market).plans
        for one in (rate, rate * more)
    ]
    if all(plans):
        costs = [one[0].figures["usd_per_h"].value for one in plans]
        assert costs[0] <= costs[1] * 1.03001
    else:
        assert plans[0] or not plans[1]


def test_a_shop_may_compile_and_is_told_what_it_gains(resnet, market):
    first = find(resnet, PlanWish(on="1x rtx 4090"), market=market).plans[0]
    assert first.work.compiled
    assert any("torch.compile" in str(note) for note in first.notes)
    old = find(resnet, PlanWish(on="1x gtx 1080 ti", weights=("fp32",)), market=market).plans[0]
    assert not old.work.compiled, "no compiler makes kernels for it"


def test_without_a_load_one_card_will_do(resnet, market):
    found = find(resnet, PlanWish(work="image"), market=market)
    assert all(plan.n_chips in {1, sold_count(plan.chip, 1)} for plan in found.plans)
    assert any(plan.n_chips == 1 for plan in found.plans)
    busy = find(resnet, PlanWish(work="image", rate_per_s=1e6), market=market)
    assert all(plan.n_chips > 1 for plan in busy.plans)


def test_no_more_at_once_than_pays(resnet, market):
    found = find(resnet, PlanWish(on="1x h100"), market=market).plans[0]
    assert found.work.batch < 256, "twice as many at once would bring next to nothing"


def test_an_archive_is_read_by_a_deadline(market):
    """Ten million texts within a day: money is the whole, and rent is paid by the hour at least."""
    bge = open_model("bge-large")
    wish = PlanWish(work="embed", samples=1e7, prompt_tok=256, days=1, chips=("l4", "h100", "a100"))
    found = find(bge, wish, market=market)
    for plan in found.plans:
        figures = plan.figures
        assert figures["days"].value <= 1
        assert figures["days"].value == pytest.approx(1e7 / figures["texts_per_s"].value / 86_400)
        assert figures["usd_per_mtok"].value == pytest.approx(figures["usd_per_text"].value / 256 * 1e6)
        if plan.supply.how == "rent":
            assert figures["usd_total"].value >= figures["usd_per_h"].value * (1 - 1e-9)
        assert "images_per_s" not in figures


def test_too_soon_for_any_card_says_how_long_it_takes(market):
    bge = open_model("bge-large")
    wish = PlanWish(work="embed", samples=1e12, prompt_tok=512, days=0.01, chips=("l4",))
    found = find(bge, wish, market=market)
    assert not found.plans
    assert found.broken[0].limit == "days"
    assert found.broken[0].nearest > 0.01


def test_imagenet_on_eight_cards(resnet, market):
    """Lambda: ResNet-50 in amp on 8 H100 SXM learns from 22,000 images a second."""
    wish = PlanWish(work="pretrain", on="8x h100 sxm", samples=1.28e6, epochs=90)
    first = find(resnet, wish, market=market).plans[0]
    assert first.n_chips == 8
    rate = first.figures["images_per_s"]
    assert 0.7 * 22_000 < rate.value < 1.4 * 22_000
    assert first.figures["days"].value == pytest.approx(1.28e6 * 90 / rate.value / 86_400)
    assert not first.work.compiled
    assert first.rank_bytes.value < first.room_bytes


@given(cards=st.sampled_from([2, 4, 8]))
@few
def test_learning_on_more_cards_is_quicker_and_never_more_than_in_proportion(resnet, market, cards):
    def rate(n):
        wish = PlanWish(work="pretrain", on=f"{n}x h100 sxm", aim="speed")
        return max(p.figures["images_per_s"].value for p in find(resnet, wish, market=market).plans)

    assert rate(1) < rate(cards) <= cards * rate(1) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("model", "wish", "told"),
    [
        ("sdxl", {"work": "finetune", "steps": 20}, "--steps"),
        ("resnet50", {"work": "finetune", "method": "lora"}, "lora"),
        ("resnet50", {"work": "image", "steps": 20}, "--steps"),
        ("resnet50", {"work": "pretrain", "trainer": "megatron"}, "megatron"),
        ("resnet50", {"work": "image", "weights": ("awq4",)}, "fp16"),
        ("openai/clip-vit-base-patch32", {"work": "image"}, "clip-vit-base-patch32"),
    ],
)
def test_what_the_law_does_not_know_is_said(market, model, wish, told):
    with pytest.raises(AskError, match=told):
        find(open_model(model), PlanWish(**wish), market=market)


def test_a_generator_too_large_says_what_is_missing(market):
    flux = open_model("flux")
    found = find(flux, PlanWish(on="1x rtx 4060"), market=market)
    assert not found.plans
    assert found.broken[0].limit == "memory"
    for on, form in (("1x rtx 3060 12gb", "nf4"), ("1x rtx 4090", "int8"), ("1x h100", "fp16")):
        plan = find(flux, PlanWish(on=on), market=market).plans[0]
        assert plan.work.weights == form, "the best that has room, with text encoder and decoder"
        told = explain(flux.name, on, wish=ServingWish(weights=form)).fullest
        assert float(told.spare_bytes) == pytest.approx(float(plan.ranks[0].spare_bytes))
    small = find(flux, PlanWish(on="1x h100"), market=market)
    assert small.plans[0].figures["images_per_s"].mark == "fitted", "such networks were run there"


def test_a_licence_counts_for_images_too(xl, market):
    found = find(xl, PlanWish(work="image", licence="no such licence"), market=market)
    assert found.broken[0].limit == "licence"


def test_a_painter_learns_a_style(xl, market):
    """All of SDXL with AdamW takes over 40 GB of states: a card of 24 GB will not do, one of 80 will."""
    wish = {"work": "finetune", "samples": 1e4, "epochs": 4}
    first = find(xl, PlanWish(on="1x h100", **wish), market=market).plans[0]
    assert first.rank_bytes.value > 40e9
    assert 2 < first.figures["images_per_s"].value < 20
    small = find(xl, PlanWish(on="1x rtx 4090", **wish), market=market)
    assert not small.plans
    assert small.broken[0].limit == "memory"
