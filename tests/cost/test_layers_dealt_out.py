"""Layers dealt out to stages: none is lost and none done twice; bands by what is known of a case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.record import Cut
from rigright.arch.sources import zoo
from rigright.cost.bands import band
from rigright.cost.known import CHIP, CLASS, NOTHING, Known
from rigright.cost.shards import share, stage_bounds
from rigright.demand import Layout
from rigright.facts.chips import by_id
from rigright.facts.engines import find_engine
from rigright.predict.bands import MEASURED, at, tell
from rigright.terms.known import bands_of

LLAMA = zoo.arch("meta-llama/Llama-3.1-8B")
SUBJECTS = ("speed_serving", "speed_streams", "speed_training", "speed_images")
widths = st.sampled_from([1, 2, 4, 8, 16])


def one(value):
    return float(np.ravel(value)[0])


@given(layers=st.integers(1, 200), stages=st.integers(1, 32))
def test_stages_hold_every_layer_once_and_nearly_alike(layers, stages):
    bounds = stage_bounds(layers, stages)
    assert len(bounds) == stages
    held = [layer for start, end in bounds for layer in range(start, end)]
    assert held == list(range(layers))
    sizes = [end - start for start, end in bounds]
    assert max(sizes) - min(sizes) <= 2
    assert sizes[-1] <= max(sizes), "the last stage has the head beside its layers"


@given(cut=st.sampled_from(list(Cut)), tp=widths, ep=widths, kv_heads=st.sampled_from([1, 2, 8, 32]))
def test_what_ranks_hold_together_is_at_least_the_whole(cut, tp, ep, kv_heads):
    part = one(share(cut, Layout(tp=tp, ep=ep), kv_heads=kv_heads))
    assert 0 < part <= 1
    assert part * tp * max(ep, 1) >= 1 - 1e-12
    assert one(share(cut, Layout(), kv_heads=kv_heads)) == 1, "one rank holds all"
    wider = one(share(cut, Layout(tp=2 * tp, ep=ep), kv_heads=kv_heads))
    assert wider <= part


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize(
    "metric", ["ttft_s", "tpot_s", "prefill_tok_s", "tok_per_s_per_chip", "samples_per_s"]
)
def test_each_thing_less_known_widens_or_leaves_a_band(subject, metric):
    chips, engines, kinds = (NOTHING, CLASS, CHIP), (False, True), (False, True)
    bands = bands_of(subject).get("bands", {})
    for engine in engines:
        for kind in kinds:
            widths_ = []
            for chip in chips:
                low, high = band(metric, known=Known(chip=chip, engine=engine, kind=kind, bands=bands))
                assert 0 < low <= 1 <= high
                widths_.append(float(np.log(high / low)))
            assert widths_ == sorted(widths_, reverse=True)
            best = np.log(np.divide(*reversed(band(metric, known=Known(bands=bands)))))
            assert widths_[-1] >= best - 1e-12


@given(tpot=st.floats(1e-4, 1.0), ttft=st.floats(1e-3, 100.0), moved=st.floats(0.2, 5))
def test_a_rate_and_its_seconds_are_one_figure_told_twice(tpot, ttft, moved):
    """A user's tokens/s are one over a token's time, with low and high reverse the order."""
    figures = {"tpot_s": tpot, "user_tok_per_s": 1 / tpot, "ttft_s": ttft}
    assert set(figures) <= set(MEASURED["speed_serving"])
    found = tell(figures, arch=LLAMA, engine=find_engine("vllm"), chips=[by_id()["h100-sxm5-80gb"]])
    seconds, rate = found["tpot_s"], found["user_tok_per_s"]
    assert rate.low * seconds.high == pytest.approx(1.0)
    assert rate.high * seconds.low == pytest.approx(1.0)
    for told in found.values():
        assert told.low < told.value < told.high
    later = at(seconds, seconds.value * moved)
    assert later.high / later.low == pytest.approx(seconds.high / seconds.low)
    assert later.low < later.value < later.high
