"""Machines for networks of images: as many as the rate asks, as soon as somebody waits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigright.arch.painters import painter
from rigright.arch.sources.open import open_model
from rigright.cost.images.diffusion import paint
from rigright.cost.images.rates import ImageRun
from rigright.demand import PlanWish
from rigright.search.find import find


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
    wish = PlanWish(work="image", on="1x rtx 4090", image_px=1024)
    first = find(xl, wish, market=market).plans[0]
    run = ImageRun(compiled=first.work.compiled)
    drawn = paint(painter(xl.name, image_px=1024), [first.chip], run=run, batch=first.work.batch)
    assert first.figures["latency_s"].value == pytest.approx(float(drawn.total_s[0]))
    assert first.figures["images_per_s"].value == pytest.approx(float(drawn.images_per_s[0]))
    assert first.rank_bytes.value < first.room_bytes


def test_a_wait_below_physics_is_told(xl, market):
    found = find(xl, PlanWish(work="image", on="1x rtx 3060", ttft_s=0.01), market=market)
    assert not found.plans
    assert [one.limit for one in found.broken] == ["latency_s"]
    assert found.nearest.work.batch == 1, "a batch of one is soonest"


@given(rate=st.floats(1, 1e5), more=st.floats(1, 10))
@settings(max_examples=10)
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
