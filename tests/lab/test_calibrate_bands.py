"""Bands made from runs left out hold four of five runs of sources, chips and models they never saw."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from toy_subject import ADA, HOPPER, SUBJECT, TABLES, run

from lab.conformal import (
    average,
    balanced,
    coverage,
    inside,
    make_bands,
    quantile,
    rounded_bands,
    shared_part,
    tuned_aim,
)
from lab.leave_out import LeftOut
from lab.left_runs import left_runs
from lab.refit import metric_errors, refit, seen
from rigright.base.units import GIGA
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NEVER, NOTHING, TRAVELLED

SIZES = [GIGA * size for size in (1, 2, 4, 8, 16, 32)]


@pytest.fixture(scope="module")
def world():
    """Sources that are each off by something of their own, over a scatter."""
    luck = np.random.default_rng(7)
    rows = []
    for number in range(24):
        own = luck.normal(0, 0.12)
        for chip in luck.choice((*HOPPER, *ADA), size=2, replace=False):
            rows += [
                run(
                    chip,
                    size,
                    source=f"s{number}",
                    model=f"m{number % 6}",
                    noise=float(np.exp(own + luck.normal(0, 0.05))),
                )
                for size in SIZES
            ]
    return rows


@pytest.fixture(scope="module")
def done(world):
    return refit(SUBJECT, world, tables=TABLES)


def test_groups_never_seen_are_held_as_often_as_is_promised(done):
    for one in done.held:
        if not one.name:
            assert 0.75 <= one.inside <= 0.93, one
    assert average(done.held) >= 0.8


def test_bands_are_no_wider_than_sources_differ(done):
    low, high = done.bands["bands"]["read_s"]["low"], done.bands["bands"]["read_s"]["high"]
    assert 0.65 < low < 0.92
    assert 1.08 < high < 1.5


def test_every_way_of_leaving_out_errs_more_than_a_fit_that_saw_it_all(done):
    (errors,) = metric_errors(done)
    assert errors.after < errors.before
    assert errors.source_out >= errors.after * 0.95
    assert errors.chip_out > errors.after


def test_what_was_seen_is_told(done, world):
    told = seen(done.fitted.problem.keys)
    assert set(told["chips"]) == {row["chip"] for row in world}
    assert told["engines"] == {"toy": told["chips"]}
    assert "nvidia-hopper" in told["classes"]


def left(errors, keys, by="source"):
    groups = tuple(key.get(by, "-") for key in keys)
    folds = np.unique(np.array(groups), return_inverse=True)[1]
    return LeftOut(by=by, groups=groups, folds=folds, errors=np.array(errors, dtype=float))


def key(source, chip="a", kind="dense", **more):
    return {
        "source": source, "chip": chip, "class": chip[0], "engine": "e", "kind": kind, "metric": "tpot_ms",
        **more,
    }  # fmt: skip


def test_a_large_source_does_not_set_the_band_alone():
    keys = [key("large")] * 900 + [key("small")] * 100
    off = np.concatenate([np.full(900, 0.01), np.linspace(-0.5, 0.5, 100)])
    made = make_bands(left_runs([left(off, keys)], keys), aim=0.8)["bands"]["tpot"]
    mixed = [key(f"{n % 97}") for n in range(1000)]
    pooled = make_bands(left_runs([left(off, mixed)], mixed), aim=0.8)["bands"]["tpot"]
    assert made["low"] < 0.8 < pooled["low"] < 1


def test_an_error_of_prediction_is_told_as_measured_over_predicted():
    keys = [key(f"s{n}") for n in range(40)]
    made = make_bands(left_runs([left(np.full(40, np.log(2)), keys)], keys), aim=0.8)["bands"]["tpot"]
    assert made["low"] == pytest.approx(0.5)  # predicted is twice what was measured
    assert made["high"] > 1


def test_rows_that_were_not_answered_are_not_counted():
    keys = [key(f"s{n}") for n in range(40)]
    errors = [np.nan] * 20 + [0.1] * 20
    assert len(left_runs([left(errors, keys)], keys).off) == 20


def test_what_stays_known_of_a_chip_its_class_and_its_kind():
    keys = [key("s", "a1"), key("s", "a2"), key("s", "b1", kind="moe")]
    found = left_runs([left([0.1, 0.1, 0.1], keys, by="chip")], keys)
    assert found.chip_level.tolist() == [CLASS, CLASS, NOTHING]
    assert found.kind_known.tolist() == [True, True, False]
    keys = [key("s"), key("t")]
    assert left_runs([left([0, 0], keys)], keys).chip_level.tolist() == [CHIP, CHIP]


def test_chips_that_err_more_when_unknown_get_wider_bands():
    luck = np.random.default_rng(3)
    keys = [key(f"s{n % 7}", f"{'ab'[n % 2]}{n % 5}") for n in range(400)]
    known = left(luck.normal(0, 0.1, 400), keys)
    unknown = left(luck.normal(0, 0.25, 400), keys, by="chip")
    wider = make_bands(left_runs([known, unknown], keys), aim=0.8)["wider"]
    assert 2 < wider["class"] <= wider["nothing"] <= 3


def test_few_runs_make_wider_bands_than_many_of_the_same():
    def width(count):
        off = np.array([NormalDist(0, 0.2).inv_cdf((n + 0.5) / count) for n in range(count)])
        keys = [key(f"s{n}") for n in range(count)]
        made = make_bands(left_runs([left(off, keys)], keys), aim=0.8)["bands"]["tpot"]
        return np.log(made["high"] / made["low"])

    assert width(40) > width(80) > width(1000)
    assert width(1000) == pytest.approx(2 * 1.2816 * 0.2, rel=0.01)


def test_a_kind_of_figure_told_apart_has_its_own_band():
    luck = np.random.default_rng(2)
    keys = [key(f"s{n}", band="ttft" if n % 2 else "ttft, split") for n in range(200)]
    off = np.where(np.arange(200) % 2, luck.normal(0, 0.1, 200), luck.normal(0, 0.5, 200))
    bands = make_bands(left_runs([left(off, keys)], keys), aim=0.8)["bands"]
    assert bands["ttft, split"]["high"] > bands["ttft"]["high"]
    assert bands["other"]["high"] == bands["ttft, split"]["high"]


def test_a_group_is_held_against_bands_made_without_it():
    keys = [key(f"s{n % 5}") for n in range(100)]
    errors = np.where(np.arange(100) % 5 == 0, 2.0, 0.01 * (np.arange(100) % 7 - 3))
    found = coverage(left_runs([left(errors, keys)], keys), aim=0.8)
    odd = next(one for one in found if one.name == "s0")
    assert odd.inside == 0  # its own errors were no help to it
    assert next(one for one in found if not one.name).inside < 0.85


def test_a_higher_aim_never_holds_less():
    luck = np.random.default_rng(11)
    keys = [key(f"s{n % 12}", f"a{n % 4}") for n in range(600)]
    runs = left_runs(
        [left(luck.normal(0, 0.2, 600), keys), left(luck.normal(0, 0.3, 600), keys, by="chip")], keys
    )
    held = [inside(runs, make_bands(runs, aim=aim)).mean() for aim in (0.7, 0.8, 0.9)]
    assert held == sorted(held)
    assert tuned_aim(runs) >= 0.74


def test_rounding_narrows_nothing():
    made = {"wider": {"class": 1.201}, "bands": {"x": {"low": 0.70049, "high": 1.30051}}}
    written = rounded_bands(made)
    assert written["wider"]["class"] == 1.21
    assert written["bands"]["x"]["low"] <= 0.70049
    assert written["bands"]["x"]["high"] >= 1.30051


@pytest.mark.parametrize(("own", "spread", "least", "most"), [(0.3, 0.02, 0.8, 0.9), (0.0, 0.3, 0.1, 0.3)])
def test_what_runs_of_a_source_share(own, spread, least, most):
    luck = np.random.default_rng(1)
    keys = [key(f"s{n // 20}") for n in range(600)]
    shifts = luck.normal(0, own, 30) if own else np.zeros(30)
    errors = np.repeat(shifts, 20) + luck.normal(0, spread, 600)
    assert least <= shared_part(left_runs([left(errors, keys)], keys)) <= most


def test_quantiles_by_weight():
    values = np.array([3.0, 1.0, 2.0])
    assert quantile(values, 0.5, weights=np.array([1.0, 1.0, 1.0])) == 2.0
    assert quantile(values, 0.5, weights=np.array([8.0, 1.0, 1.0])) == 3.0
    assert balanced(np.array([0, 0, 0, 1])).tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_an_engine_that_goes_with_its_chip_does_not_widen_bands_of_chips():
    luck = np.random.default_rng(9)
    keys = [key(f"s{n % 7}", f"a{n % 5}") for n in range(300)]
    lone = [key(f"odd{n % 2}", "a9") | {"engine": "lone"} for n in range(40)]
    off = luck.normal(0, 0.1, 340)
    known = left(off, [*keys, *lone])
    by_chip = left(np.where(np.arange(340) < 300, off, 1.5), [*keys, *lone], by="chip")
    wider = make_bands(left_runs([known, by_chip], [*keys, *lone]), aim=0.8)["wider"]
    assert wider["class"] < 1.3
    assert wider["engine"] > 2


def test_what_stays_known_of_an_engine_is_asked_fold_by_fold():
    ran = [("lone", "a1"), ("far", "a1"), ("far", "a2"), ("far", "a3"), ("far", "a4")]
    keys = [key("s", chip) | {"engine": engine} for engine, chip in ran]
    found = left_runs([left([0.1] * 5, keys, by="chip")], keys)
    assert found.engine_level.tolist() == [NEVER, TRAVELLED, TRAVELLED, TRAVELLED, TRAVELLED]
    few = left_runs([left([0.1] * 3, keys[:3], by="chip")], keys[:3])
    assert few.engine_level.tolist() == [NEVER, ELSEWHERE, ELSEWHERE]


def test_an_engine_is_never_missing_where_none_is_named():
    keys = [key("s", chip) | {"engine": ""} for chip in ("a1", "a2")]
    assert left_runs([left([0.1, 0.1], keys, by="chip")], keys).engine_level.tolist() == [TRAVELLED] * 2


def test_a_class_left_out_leaves_its_kin():
    keys = [
        key("s", "h100-sxm5-80gb") | {"class": "nvidia-hopper"},
        key("s", "a100-sxm4-80gb") | {"class": "nvidia-ampere-hbm"},
        key("s", "mi300x") | {"class": "amd-cdna"},
    ]
    found = left_runs([left([0.1] * 3, keys, by="class")], keys)
    assert found.chip_level.tolist() == [KIN, KIN, NOTHING]
    assert found.group("class").tolist() == [one["class"] for one in keys]


def test_a_lone_engine_widens_what_is_asked_of_engines_and_not_of_chips():
    """One world twice: its odd runs are of an engine that ran on two chips, or of one that travelled."""
    luck = np.random.default_rng(4)
    good = [key(f"s{n % 7}", f"a{n % 5}") for n in range(300)]
    odd = [key(f"odd{n % 2}", f"a{n % 2}") for n in range(60)]
    off = np.concatenate([luck.normal(0, 0.1, 300), luck.normal(0, 0.6, 60)])

    def wider(engine):
        keys = [*good, *(one | {"engine": engine} for one in odd)]
        known = left(np.concatenate([off[:300], off[300:] / 6]), keys)
        return make_bands(left_runs([known, left(off, keys, by="chip")], keys), aim=0.8)["wider"]

    lone, travelled = wider("lone"), wider("e")
    assert lone["class"] < travelled["class"]
    assert lone["elsewhere"] > 2 * lone["class"]


def test_a_figure_of_one_source_is_no_surer_than_those_of_several():
    luck = np.random.default_rng(5)
    keys = [key(f"s{n % 9}") for n in range(180)] + [key("lone", band="decode")] * 40
    off = np.concatenate([luck.normal(0, 0.2, 180), luck.normal(0, 0.001, 40)])
    runs = left_runs([left(off, keys, by="model"), left(off, keys)], keys)
    bands = make_bands(runs, aim=0.8)["bands"]
    assert bands["decode"]["low"] <= bands["tpot"]["low"]
    assert bands["decode"]["high"] >= bands["tpot"]["high"]
