"""Power: laws of watts, and what was measured of chips and whole nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.cost.power import Busy, Draw, draw_w, machine_w, rented_w
from rigright.facts.chips import by_id, chips
from rigright.terms.fitted import busy_in, power_terms, pue_of

RATED = [chip for chip in chips() if chip.tdp_w]
rated = st.sampled_from(RATED)
share = st.floats(0, 1)


def watts(chip, busy):
    return float(draw_w(power_terms([chip]), busy).value[0])


@given(chip=rated, compute=share, work=share, more=share)
def test_more_in_use_draws_more_and_never_beyond_the_rating(chip, compute, work, more):
    less = watts(chip, Busy(compute=compute * more, work=work * more))
    full = watts(chip, Busy(compute=compute, work=work))
    assert 0 < less <= full <= chip.tdp_w


@given(chip=rated, compute=share, work=share, duty=share)
def test_a_chip_that_rests_part_of_the_time_draws_between_idle_and_full(chip, compute, work, duty):
    idle, full = (watts(chip, Busy(compute=compute, work=work, duty=d)) for d in (0.0, 1.0))
    part = watts(chip, Busy(compute=compute, work=work, duty=duty))
    assert idle - 1e-9 <= part <= full + 1e-9
    assert part == pytest.approx(idle + duty * (full - idle))


@given(chip=rated, compute=share, work=share)
def test_the_band_holds_the_value(chip, compute, work):
    found = draw_w(power_terms([chip]), Busy(compute=compute, work=work))
    assert found.low[0] < found.value[0] <= found.high[0]
    machine = machine_w(power_terms([chip]), found, count=8)
    assert machine.low[0] < machine.value[0] < machine.high[0]
    assert machine.value[0] > 8 * found.value[0]


def test_many_chips_equal_each_alone():
    busy = busy_in("serve")
    together = draw_w(power_terms(RATED), busy)
    for place, chip in enumerate(RATED):
        assert watts(chip, busy) == together.value[place]


def test_decode_draws_less_than_prefill_and_training_on_every_chip():
    decode, prefill, training = (
        draw_w(power_terms(RATED), busy_in(p)).value for p in ("decode", "prefill", "training")
    )
    assert (decode < prefill).all()
    assert (decode < training).all()
    assert (draw_w(power_terms(RATED), busy_in("idle")).value < decode).all()


def test_decode_whose_kernels_are_started_one_by_one_is_where_it_was_measured():
    """arXiv 2605.11999: H200, 137 to 300 W of 700, at any batch: the host's pace."""
    waiting, third = (watts(by_id()["h200-sxm-141gb"], Busy(compute=0.02, work=w)) for w in (0.1, 0.3))
    assert 137 < waiting < third < 300


def test_operators_on_a100_are_where_they_were_measured():
    """FlagPerf, A100 of 400 W: 338 W multiplying in 16 bit, 239 W reading, 82 W waiting."""
    chip = by_id()["a100-sxm4-80gb"]
    assert watts(chip, Busy(compute=1.0, work=1.0)) == pytest.approx(338.4, rel=0.06)
    assert watts(chip, Busy(compute=0.0, work=1.0)) == pytest.approx(239.3, rel=0.06)
    assert watts(chip, Busy(compute=0.0, work=0.0)) == pytest.approx(82.1, rel=0.2)


@pytest.mark.parametrize("chip", ["h100-sxm5-80gb", "a100-sxm4-80gb", "l40s"])
def test_a_program_that_waits_adds_what_was_measured(chip):
    """arXiv 2605.23918: 26 to 66 W above bare idle."""
    resting = watts(by_id()[chip], Busy(compute=0.0, work=0.0, duty=0.0))
    waiting = watts(by_id()[chip], busy_in("idle"))
    assert 20 < waiting - resting < 70


def test_a_node_that_trains_is_where_it_was_measured():
    """IEEE Access 13:61740: eight H100 draw at most 8.4 kW; arXiv 2506.14551: 76 % of 10.2 kW."""
    chip = by_id()["h100-sxm5-80gb"]
    drawn = draw_w(power_terms([chip]), busy_in("training"))
    node = machine_w(power_terms([chip]), drawn, count=8)
    assert 6_500 < node.value[0] < 8_400
    assert node.low[0] < 0.76 * 10_200 < node.high[0]


def test_a_small_machine_draws_little_around_its_chip():
    for name in ("apple-m3-ultra", "dgx-spark-gb10"):
        chip = by_id()[name]
        drawn = draw_w(power_terms([chip]), busy_in("decode"))
        assert machine_w(power_terms([chip]), drawn).value[0] < drawn.value[0] + 60


def test_an_unknown_rating_is_not_a_number_and_no_zero():
    unrated = [chip for chip in chips() if not chip.tdp_w]
    assert np.isnan(draw_w(power_terms(unrated), busy_in("decode")).value).all()


def test_buildings_draw_more_than_their_machines():
    assert pue_of("home") == 1 < pue_of("hyperscale") < pue_of("datacenter") < 1.6


def test_a_rented_card_draws_its_share_of_a_server_by_hand():
    """An A100 SXM at 300 W: 300 + 0.28 x 300 + 1300 / 8 = 546.5 W; eight of them are the whole server."""
    chips = [by_id()["a100-sxm4-80gb"], by_id()["rtx-4090"]]
    drawn = Draw(value=np.array([300.0, 300.0]), low=np.array([250.0, 250.0]), high=np.array([350.0, 350.0]))
    one = rented_w(power_terms(chips), drawn)
    assert one.value[0] == pytest.approx(300 * 1.28 + 1300 / 8)
    assert one.value[1] == pytest.approx(300 * 1.2 + 450 / 8), "a desk's card stands in a server there"
    assert one.low[0] < one.value[0] < one.high[0]
    whole, alone = rented_w(power_terms(chips), drawn, count=8), machine_w(power_terms(chips), drawn, count=8)
    assert whole.value[0] == pytest.approx(alone.value[0])
    assert one.value[0] < machine_w(power_terms(chips), drawn).value[0] / 2
    mac = [by_id()["apple-m4"]]
    bare = Draw(value=np.array([30.0]), low=np.array([20.0]), high=np.array([40.0]))
    assert rented_w(power_terms(mac), bare).value == machine_w(power_terms(mac), bare).value, (
        "nobody shares a Mac"
    )
