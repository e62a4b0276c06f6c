"""Watts and joules of every chip and machine: between idle and rating, added up, and the same in any unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.cost.power import (
    MODULES,
    Busy,
    Draw,
    busy_in,
    busy_of,
    draw_w,
    energy_j,
    energy_per_unit_j,
    kwh,
    machine_w,
    pue_of,
)
from rigright.facts.chips import chips
from rigright.facts.corrections import corrections

RATED = tuple(chip for chip in chips() if chip.tdp_w)
PHASES = ("idle", "decode", "serve", "prefill", "training", "image")
rated = st.sampled_from(RATED)
share = st.floats(0, 1)
draws = st.builds(
    lambda value, below, above: Draw(value=value, low=value * below, high=value * above),
    st.floats(1, 1e5), st.floats(0.3, 1), st.floats(1, 3),
)  # fmt: skip


def each(phase):
    return draw_w(RATED, busy_in(phase))


@pytest.mark.parametrize("phase", PHASES)
def test_every_chip_draws_between_its_rest_and_its_rating(phase):
    rest = draw_w(RATED, Busy(compute=0.0, memory=0.0, duty=0.0)).value
    found = each(phase)
    rating = np.array([chip.tdp_w for chip in RATED])
    assert (rest > 0).all()
    assert (rest < 0.3 * rating).all()
    assert (found.value >= rest).all()
    assert (found.value <= rating).all()
    assert (found.low < found.value).all()
    assert (found.high <= rating + 1e-9).all()


def test_phases_of_every_chip_stand_in_the_order_of_what_they_use():
    idle, decode, serve, training = (each(phase).value for phase in ("idle", "decode", "serve", "training"))
    assert (idle < decode).all()
    assert (decode <= serve).all()
    assert (serve <= training).all()


@given(chip=rated, compute=share, memory=share, duty=share, more=share)
def test_each_share_that_is_used_more_draws_no_less(chip, compute, memory, duty, more):
    def watts(**changes):
        asked = {"compute": compute * more, "memory": memory * more, "duty": duty * more} | changes
        return draw_w([chip], Busy(**asked)).value[0]

    for name, value in (("compute", compute), ("memory", memory), ("duty", duty)):
        assert watts(**{name: value}) >= watts() - 1e-9, name


@given(chip=rated, compute=share, memory=share, caps=st.lists(st.floats(0.2, 2), min_size=2, max_size=5))
def test_caps_of_one_card_are_an_array_and_rise_together(chip, compute, memory, caps):
    caps = np.sort(np.array(caps)) * chip.tdp_w
    found = draw_w([chip], Busy(compute=compute, memory=memory), limit_w=caps).value
    assert found.shape == caps.shape
    assert (np.diff(found) >= -1e-9).all()
    assert (found <= np.minimum(caps, chip.tdp_w) + 1e-9).all()
    for cap, value in zip(caps, found, strict=True):
        assert value == draw_w([chip], Busy(compute=compute, memory=memory), limit_w=float(cap)).value[0]


@given(chip=rated, count=st.integers(1, 64), boxes=st.integers(1, 8), phase=st.sampled_from(PHASES))
def test_a_machine_draws_its_chips_a_share_around_each_and_its_boxes(chip, count, boxes, phase):
    """Linear: chips and boxes told apart add up to both told at once."""
    drawn = draw_w([chip], busy_in(phase))
    whole = machine_w([chip], drawn, count=count, boxes=boxes).value[0]
    one, box = machine_w([chip], drawn, count=1, boxes=0).value[0], machine_w([chip], drawn, count=0).value[0]
    assert whole == pytest.approx(count * one + boxes * box)
    assert one >= drawn.value[0]
    assert box > 0


@given(drawn=draws, first=st.floats(1, 1e6), second=st.floats(1, 1e6))
def test_energy_of_two_hours_is_that_of_each(drawn, first, second):
    both = energy_j(drawn, first + second)
    for name in ("low", "value", "high"):
        apart = getattr(energy_j(drawn, first), name) + getattr(energy_j(drawn, second), name)
        assert getattr(both, name) == pytest.approx(apart)


@given(drawn=draws, rate=st.floats(1e-3, 1e6), seconds=st.floats(1, 1e6))
def test_what_is_made_holds_all_the_energy_that_went_in(drawn, rate, seconds):
    """Joules a token, times all tokens, are the joules of the time; and kilowatt hours are the same again."""
    whole = energy_j(drawn, seconds).value
    assert energy_per_unit_j(drawn, rate).value * rate * seconds == pytest.approx(whole)
    assert kwh(drawn, seconds).value * 3.6e6 == pytest.approx(whole)


@given(compute=st.floats(0, 10), memory=st.floats(0, 10), total=st.floats(1e-3, 20))
def test_what_a_pass_uses_are_shares(compute, memory, total):
    found = busy_of(compute, memory, total_s=total)
    assert 0 <= found.compute <= 1
    assert 0 <= found.memory <= 1
    longer = busy_of(compute, memory, total_s=2 * total)
    assert longer.compute <= found.compute
    assert longer.memory <= found.memory


def test_machines_made_for_modules_draw_more_around_them_than_desks():
    modules = [chip for chip in RATED if chip.segment == "datacenter" and chip.form.startswith(MODULES)]
    desks = [chip for chip in RATED if chip.segment == "consumer"]
    box = [machine_w([chip], draw_w([chip], busy_in("idle")), count=0).value[0] for chip in modules + desks]
    assert min(box[: len(modules)]) > max(box[len(modules) :])


def test_a_dgx_h100_is_rated_above_what_we_say_it_draws():
    """NVIDIA DGX H100 user guide: 10.2 kW at most; eight cards of 700 W alone are 5.6."""
    chip = next(chip for chip in RATED if chip.id == "h100-sxm5-80gb")
    full = machine_w([chip], draw_w([chip], Busy(compute=1.0, memory=1.0)), count=8).value[0]
    assert 5_600 < full < 10_200


def test_terms_of_power_are_shares_of_the_rating():
    tables = corrections("power")
    for name, row in tables["chips"].items():
        for term, value in row.items():
            assert 0 < value < 1.5, (name, term)
        assert row.get("low", 0.7) < 1 < row.get("high", 1.3)
    for row in tables["hosts"].values():
        assert row["base_w"] > 0
        assert 0 <= row["share"] < 1
    for row in tables["phases"].values():
        assert 0 <= row["compute"] <= 1
        assert 0 <= row["memory"] <= 1
    assert set(PHASES) <= set(tables["phases"])


def test_no_place_draws_less_than_its_machines():
    for place in corrections("power")["pue"]:
        assert 1 <= pue_of(place) < 2.5
