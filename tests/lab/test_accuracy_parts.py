"""The parts of docs/accuracy.md: what was left out belongs to today's terms, pictures are small and alike."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from lab.conformal import Coverage
from lab.page import left_out, pictures, tables, worst
from lab.page.validated import TITLES, PredictedFigure

ROOT = Path(__file__).parent.parent.parent


def run(
    number=0,
    *,
    measured=10.0,
    predicted=11.0,
    metric="tpot_ms",
    source="lab",
    chip="h100",
    model="m",
    holds=True,
):
    return PredictedFigure(
        id=f"r{number:03}",
        metric=metric,
        source=source,
        chip=chip,
        model=model,
        note=f"{source}:page",
        measured=measured,
        predicted=predicted,
        holds=holds,
    )


def by_key(runs):
    return {(one.id, one.metric): one for one in runs}


@pytest.fixture(scope="module")
def many():
    luck = np.random.default_rng(0)
    return [
        run(n, measured=float(size), predicted=float(size * off), source=f"lab{n % 3}", model=f"m{n % 7}")
        for n, (size, off) in enumerate(
            zip(10 ** luck.uniform(0, 3, 900), np.exp(luck.normal(0, 0.2, 900)), strict=True)
        )
    ]


def test_a_picture_is_small_xml_and_the_same_every_time(many):
    drawn = pictures.scatter("tpot_ms", many)
    assert drawn == pictures.scatter("tpot_ms", list(reversed(many)))
    assert len(drawn) < 40_000
    picture = ET.fromstring(drawn)  # noqa: S314 - made here
    dots = [one for one in picture.iter("{http://www.w3.org/2000/svg}circle") if one.get("r") == "2"]
    assert 250 < len(dots) <= pictures.MOST_DOTS
    for dot in dots:
        assert pictures.EDGE <= float(dot.get("cx")) <= pictures.EDGE + pictures.SIDE
        assert pictures.EDGE <= float(dot.get("cy")) <= pictures.EDGE + pictures.SIDE


def test_a_perfect_prediction_stands_on_the_line():
    drawn = pictures.scatter("tpot_ms", [run(n, measured=10.0**n, predicted=10.0**n) for n in range(3)])
    for dot in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}circle"):  # noqa: S314
        if dot.get("r") == "2":
            across, up = float(dot.get("cx")) - pictures.EDGE, float(dot.get("cy")) - pictures.EDGE
            assert across + up == pytest.approx(pictures.SIDE, abs=0.2)


def test_a_small_source_is_drawn_beside_a_large_one(many):
    drawn = pictures.scatter("tpot_ms", [*many, run(999, source="tiny")])
    assert drawn.count(f'fill="{pictures.INKS[3]}" fill-opacity') == 1
    assert ">tiny<" in drawn


def test_the_share_of_runs_within_an_error_only_rises():
    drawn = pictures.spread(
        "tpot_ms", {"predicted": np.linspace(-0.3, 0.3, 50), "source_out": np.linspace(-1, 1, 50)}
    )
    for line in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}polyline"):  # noqa: S314
        ups = [float(point.split(",")[1]) for point in line.get("points").split()]
        assert ups == sorted(ups, reverse=True)


def test_every_way_of_being_left_out_has_its_picture(many):
    left = {key: {"predicted": one.off, "chip_out": one.off * 2} for key, one in by_key(many).items()}
    assert {path.name for path in pictures.draw(by_key(many), left)} == {
        "tpot_ms.svg",
        "tpot_ms_left_out.svg",
    }
    assert {path.name for path in pictures.draw(by_key(many), {})} == {"tpot_ms.svg"}


def test_what_was_left_out_under_other_terms_is_stale(many):
    runs = by_key(many)
    kept = {key: {"predicted": one.off} for key, one in runs.items()}
    assert left_out.stale(runs, kept) == []
    other = dict(kept)
    other["r005", "tpot_ms"] = {"predicted": runs["r005", "tpot_ms"].off + 0.05}
    assert left_out.stale(runs, other) == ["r005"]
    assert left_out.stale(runs, {}) == []


def test_errors_are_averaged_over_sources_not_over_rows():
    runs = [run(n, predicted=11.0, source="large") for n in range(90)]
    runs += [run(n, predicted=15.0, source="small") for n in range(90, 100)]
    left = {(one.id, one.metric): {"source_out": one.off} for one in runs}
    assert tables._macro(by_key(runs), left, "source_out") == pytest.approx((0.1 + 0.5) / 2)
    assert tables._macro(by_key(runs), {}, "source_out") is None


def test_tables_by_chip_tell_what_was_left_out_beside_what_was_seen():
    runs = [run(n, predicted=11.0, chip="h100") for n in range(4)] + [
        run(9, predicted=5.0, chip="l4", holds=False)
    ]
    left = {("r009", "tpot_ms"): {"chip_out": math.log(2)}}
    head, rule, h100, l4 = tables.by_group(runs, lambda one: one.chip, left=left, way="chip")
    assert head.count("|") == rule.count("|") == h100.count("|")
    assert "10.0%" in h100
    assert "100.0% | 0.0% |" in l4


def test_the_group_that_is_held_least_is_named():
    held = [
        Coverage(by="speed:chip", name="", runs=30, inside=0.8),
        Coverage(by="speed:chip", name="a", runs=20, inside=0.9),
        Coverage(by="speed:chip", name="b", runs=10, inside=0.7),
    ]
    assert list(tables.covered(held))[2] == "| speed | chip | 2 | 30 | 80.0% | b (10 runs): 70% |"


REASON = {"where": {"metric": "tpot", "source": "LAB", "chip": "h100"}, "known": True, "why": "x"}


def test_a_reason_speaks_of_the_runs_whose_fields_hold_its_texts():
    assert worst.fits(REASON, run())
    assert not worst.fits(REASON, run(chip="l4"))
    assert worst.fits(REASON | {"side": "high"}, run(predicted=20))
    assert not worst.fits(REASON | {"side": "low"}, run(predicted=20))


def test_the_worst_of_each_chip_model_and_source_is_told_once():
    runs = [run(n, predicted=10.0 + n) for n in range(5)] + [run(9, predicted=100, chip="l4")]
    told = list(worst.worst(runs))[2:]
    assert [line.split(" | ")[1] for line in told] == ["r009", "r004"]
    assert all(worst.UNTOLD in line for line in told)


def test_reasons_are_whole_sentences_about_known_fields():
    told = worst.reasons(worst.REASONS)
    assert len(told) > 10
    for one in told:
        assert set(one) <= {"where", "side", "known", "why"}
        assert set(one["where"]) <= {"metric", "source", "chip", "model"}
        assert one.get("side") in {None, "low", "high"}
        assert isinstance(one["known"], bool)
        assert one["why"]
        assert one["where"].get("metric", "tpot_ms") in TITLES


def test_what_is_kept_of_runs_left_out_is_whole():
    left = left_out.kept()
    assert len(left) > 1000
    for ways in left.values():
        assert all(np.isfinite(off) for off in ways.values())
    for one in left_out.coverages():
        assert 0 <= one.inside <= 1


def test_bands_hold_what_they_never_saw_as_often_as_is_promised():
    averages = [one for one in left_out.coverages() if not one.name]
    assert averages
    assert 0.75 <= np.mean([one.inside for one in averages]) <= 0.90
