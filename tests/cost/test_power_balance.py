"""Watts of every chip and machine: between idle and rating, and added up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.cost.power import BOARDS, Busy, draw_w, machine_w
from rigright.facts.chips import chips
from rigright.facts.corrections import corrections
from rigright.terms.fitted import busy_in, power_terms, pue_of

RATED = tuple(chip for chip in chips() if chip.tdp_w)
PHASES = ("idle", "decode", "serve", "prefill", "training", "image")
rated = st.sampled_from(RATED)
share = st.floats(0, 1)


def each(phase):
    return draw_w(power_terms(RATED), busy_in(phase))


@pytest.mark.parametrize("phase", PHASES)
def test_every_chip_draws_between_its_rest_and_its_rating(phase):
    rest = draw_w(power_terms(RATED), Busy(compute=0.0, work=0.0, duty=0.0)).value
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


@given(chip=rated, compute=share, work=share, duty=share, more=share)
def test_each_share_that_is_used_more_draws_no_less(chip, compute, work, duty, more):
    def watts(**changes):
        asked = {"compute": compute * more, "work": work * more, "duty": duty * more} | changes
        return draw_w(power_terms([chip]), Busy(**asked)).value[0]

    for name, value in (("compute", compute), ("work", work), ("duty", duty)):
        assert watts(**{name: value}) >= watts() - 1e-9, name


@given(chip=rated, count=st.integers(1, 64), boxes=st.integers(1, 8), phase=st.sampled_from(PHASES))
def test_a_machine_draws_its_chips_a_share_around_each_and_its_boxes(chip, count, boxes, phase):
    """Linear: chips and boxes told apart add up to both told at once."""
    drawn = draw_w(power_terms([chip]), busy_in(phase))
    whole = machine_w(power_terms([chip]), drawn, count=count, boxes=boxes).value[0]
    one, box = (
        machine_w(power_terms([chip]), drawn, count=1, boxes=0).value[0],
        machine_w(power_terms([chip]), drawn, count=0).value[0],
    )
    assert whole == pytest.approx(count * one + boxes * box)
    assert one >= drawn.value[0]
    assert box > 0


def test_machines_made_for_modules_draw_more_around_them_than_desks():
    modules = [chip for chip in RATED if chip.segment == "datacenter" and chip.around in BOARDS]
    desks = [chip for chip in RATED if chip.segment == "consumer"]
    box = [
        machine_w(power_terms([chip]), draw_w(power_terms([chip]), busy_in("idle")), count=0).value[0]
        for chip in modules + desks
    ]
    assert min(box[: len(modules)]) > max(box[len(modules) :])


def test_a_dgx_h100_is_rated_above_what_we_say_it_draws():
    """NVIDIA DGX H100 user guide: 10.2 kW at most; eight cards of 700 W alone are 5.6."""
    chip = next(chip for chip in RATED if chip.id == "h100-sxm5-80gb")
    full = machine_w(
        power_terms([chip]), draw_w(power_terms([chip]), Busy(compute=1.0, work=1.0)), count=8
    ).value[0]
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
        assert 0 <= row["work"] <= 1
    assert set(PHASES) <= set(tables["phases"])


def test_no_place_draws_less_than_its_machines():
    for place in corrections("power")["pue"]:
        assert 1 <= pue_of(place) < 2.5
