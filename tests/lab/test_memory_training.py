"""The script that fits terms and bands: on made-up runs whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from lab import memory_training

PLAIN = {"reserve": 1.0, "scattered": 0.0, "context_gib": 0.0, "collectives_gib": 0.0}


@pytest.fixture
def fitting():
    return memory_training


def run(fitting, measured, **changes):
    values = {"source": "a", "kind": "reserved", "assumed": False, "allocated": 8.0, "base": 10.0}
    values |= {"scattered": False, "ranks": 1}
    return fitting.MemoryRun(measured=measured, **values | changes)


def test_terms_are_found_again(fitting):
    runs = [run(fitting, 10.8, source=source) for source in "ab"]
    runs += [run(fitting, 12.8, source=source, scattered=True) for source in "cd"]
    terms = fitting.fit_terms(runs)
    assert terms["reserve"] == pytest.approx(1.08)
    assert terms["scattered"] == pytest.approx(0.2)


def test_allocated_figures_know_no_terms(fitting):
    one = run(fitting, 8.4, kind="allocated")
    assert one.ratio({"reserve": 9.0}) == pytest.approx(1.05)


def test_device_figures_carry_context_and_collectives(fitting):
    gib = 2**30
    terms = {"reserve": 1.0, "scattered": 0.0, "context_gib": 1.0, "collectives_gib": 2.0}
    alone = run(fitting, 11.0 * gib, kind="device", base=10.0 * gib, allocated=8.0 * gib)
    assert alone.ratio(terms) == pytest.approx(1)


def test_no_source_outweighs_another(fitting):
    runs = [run(fitting, 10.2, source="many")] * 99 + [run(fitting, 13.0, source="few")]
    assert fitting.width(runs, "reserved", terms=PLAIN, aim=0.8) > np.log(1.2)


def test_bands_are_never_narrower_than_the_noise_between_releases(fitting):
    runs = [run(fitting, 10.0, source=source) for source in "aab"]
    assert fitting.width(runs, "reserved", terms=PLAIN, aim=0.9) == pytest.approx(fitting.LEAST)


def test_what_unsaid_inputs_explain_needs_no_band(fitting):
    assert fitting.needed(run(fitting, 13.0), PLAIN) == pytest.approx(np.log(1.3))
    assert fitting.needed(run(fitting, 13.0, above=0.3), PLAIN) == 0
    assert fitting.needed(run(fitting, 13.0, below=0.3), PLAIN) == pytest.approx(np.log(1.3))


def test_runs_of_another_kind_of_peak_count_less(fitting):
    exact = [run(fitting, 10.0, source=source) for source in "ab"]
    far = [run(fitting, 8.0 * 1.5, source=source, kind="allocated") for source in "cd"]
    kinds = ("reserved", "allocated")
    mine, theirs = (fitting.width([*exact, *far], kind, terms=PLAIN, aim=0.6) for kind in kinds)
    assert mine < theirs


def test_bands_widen_where_inputs_are_open(fitting):
    runs = [run(fitting, 10.5, source="a"), run(fitting, 14.0, source="b", assumed=True)]
    edges = fitting.bands(runs, PLAIN, 0.8)
    assert edges["reserved_assumed"][1] > edges["reserved"][1]


def test_a_source_left_out_is_judged_by_the_others(fitting):
    runs = [run(fitting, 10.4, source=source) for source in "abc"] + [run(fitting, 20.0, source="odd")]
    left = {one.source: one for one in fitting.left_out(runs, 0.8)}
    assert left["odd"].inside == 0
    assert left["odd"].errors[0] < -0.4
    assert fitting.coverage(list(left.values())) < 1


@pytest.mark.restates(
    "lab/*.py", "src/rigright/arch/**/*.py", "src/rigright/cost/**/*.py", "src/rigright/data/**/*"
)
def test_the_table_that_is_shipped_is_what_the_script_writes(fitting, root, shared):
    measured = [shared / "measured/training.csv", shared / "measured/new/released_training.csv"]
    runs = fitting.runs_of(map(str, [*measured, root / "src/rigright/data/runs/training.csv"]))
    terms = fitting.fit_terms(runs)
    shipped = (root / "src/rigright/data/corrections/memory_training.toml").read_text(encoding="utf-8")
    for name, value in terms.items():
        assert f"{name} = {value:g}" in shipped
