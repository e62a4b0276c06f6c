"""Bands made from runs left out hold four of five runs of sources, chips and models they never saw."""

from __future__ import annotations

import numpy as np
import pytest
from toy_subject import ADA, HOPPER, SUBJECT, TABLES, run

from lab.conformal import balanced, few, inside, make_bands, quantile
from lab.leave_out import DIMENSIONS, LeftOut
from lab.left_runs import left_runs
from lab.refit import metric_errors, refit, seen
from rigright.base.units import GIGA
from rigright.cost.bands import deviation
from rigright.cost.known import CHIP, CLASS, ELSEWHERE, KIN, NEVER, NOTHING, TRAVELLED, Known

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
    for one in done.coverages:
        if not one.name:
            assert 0.75 <= one.inside <= 0.97, one
            assert one.width < (1.6 if one.by == "source" else 2.5), one
    assert np.mean([one.inside for one in done.coverages if not one.name]) >= 0.8


def test_bands_are_no_wider_than_sources_differ(done):
    terms = done.bands["read_s"]
    low, high = (
        np.exp(terms[side] * deviation(terms, known=Known(source=False))) for side in ("low", "high")
    )
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


def edges(terms, **known):
    width = deviation(terms, known=Known(**known))
    return np.exp(terms["low"] * width), np.exp(terms["high"] * width)


def every_way(off, keys, **by):
    """The same errors whatever is left out, but for the ways that are told apart."""
    return left_runs([left(by.get(one, off), keys, by=one) for one in DIMENSIONS], keys)


def test_a_large_source_does_not_set_the_band_alone():
    keys = [key("large")] * 900 + [key("small")] * 100
    off = np.concatenate([np.full(900, 0.01), np.linspace(-0.5, 0.5, 100)])
    bands, _ = make_bands(every_way(off, keys))
    mixed = [key(f"{n % 10}") for n in range(1000)]
    pooled, _ = make_bands(every_way(off, mixed))
    low, mild = edges(bands["tpot"], source=False)[0], edges(pooled["tpot"])[0]
    assert low < 0.81 < mild < 1


def test_an_error_of_prediction_is_told_as_measured_over_predicted():
    keys = [key(f"s{n % 5}") for n in range(60)]
    bands, _ = make_bands(every_way(np.full(60, np.log(2)), keys))
    low, high = edges(bands["tpot"], source=False)
    assert low <= 0.5 * 1.01  # predicted is twice what was measured
    assert high > 1


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
    keys = [key(f"s{n % 7}", f"a{n % 5}") for n in range(400)]
    runs = every_way(luck.normal(0, 0.1, 400), keys, chip=luck.normal(0, 0.4, 5)[np.arange(400) % 5])
    terms = make_bands(runs)[0]["tpot"]
    assert terms["chip"] > terms["within"]
    assert np.log(edges(terms, chip=CLASS)[1]) > 1.4 * np.log(edges(terms)[1])


def test_few_sources_show_less_of_how_sources_differ():
    factors = [few(sources) for sources in (1, 2, 3, 5, 10, 40)]
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] == pytest.approx(1.1, abs=0.05)

    def source_level(count):
        keys = [key(f"s{n % count}") for n in range(240)]
        off = np.tile(np.linspace(-0.3, 0.3, 24), 10)
        return make_bands(every_way(off, keys))[0]["tpot"]["source"]

    assert source_level(2) > source_level(12)


def test_a_kind_of_figure_told_apart_has_its_own_band():
    luck = np.random.default_rng(2)
    keys = [key(f"s{n % 20}", band="ttft" if n % 2 else "ttft, split") for n in range(200)]
    off = np.where(np.arange(200) % 2, luck.normal(0, 0.1, 200), luck.normal(0, 0.5, 200))
    bands, _ = make_bands(every_way(off, keys))
    assert edges(bands["ttft, split"])[1] > edges(bands["ttft"])[1]
    assert edges(bands["other"])[1] >= edges(bands["ttft, split"])[1]


def test_a_group_is_held_against_bands_made_without_it():
    keys = [key(f"s{n % 5}") for n in range(100)]
    errors = np.where(np.arange(100) % 5 == 0, 2.0, 0.01 * (np.arange(100) % 7 - 3))
    _, held = make_bands(every_way(errors, keys))
    odd = next(one for one in held if one.name.startswith("s0"))
    assert odd.inside == 0  # its own errors were no help to it
    assert next(one for one in held if not one.name and one.by == "source").inside < 0.85


def test_a_band_holds_what_is_promised_of_its_own_runs():
    luck = np.random.default_rng(11)
    keys = [key(f"s{n % 12}", f"a{n % 4}") for n in range(600)]
    runs = every_way(luck.normal(0, 0.2, 600), keys, chip=luck.normal(0, 0.3, 600))
    assert inside(runs, make_bands(runs)[0]["tpot"]).mean() > 0.78


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
    runs = every_way(off, [*keys, *lone], chip=np.where(np.arange(340) < 300, off, 1.5))
    terms = make_bands(runs)[0]["tpot"]
    assert terms["chip"] < 0.15
    assert np.hypot(terms["elsewhere"], terms["engine"]) > 2 * terms["chip"]


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
