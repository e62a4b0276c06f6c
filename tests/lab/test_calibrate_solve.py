"""A fit finds a known truth, believes many runs more than few, and no source more than another."""

from __future__ import annotations

import math

import numpy as np
import pytest
from toy_subject import ADA, HOPPER, START_S, SUBJECT, TABLES, TRUTH, run

from lab.leave_out import leave_out
from lab.record import Dial, LabError
from lab.solve import fit
from lab.terms import drop, put, start, term, tree
from lab.weights import row_weights
from rigright.base.units import GIGA
from rigright.facts.chips import by_id

SIZES = [GIGA * size for size in (1, 3, 10, 30)]


def runs(*chips, source="s1", repeat=3):
    return [run(chip, size, source=source) for chip in chips for size in SIZES for _ in range(repeat)]


def share(fitted, chip):
    return by_id()[chip].terms_in(fitted.tables["chips"])["memory"]


def test_a_known_truth_is_recovered():
    fitted = fit(SUBJECT, runs(*HOPPER, *ADA[:2]), tables=TABLES)
    for chip in (*HOPPER, *ADA[:2]):
        assert share(fitted, chip) == pytest.approx(TRUTH[chip], rel=0.02)
    assert term(fitted.tables, ("chips", "all", "start_s")) == pytest.approx(START_S, rel=0.05)
    assert np.abs(fitted.after).max() < 0.02 < np.abs(fitted.before).max()


def test_the_tables_given_are_left_as_they_are():
    before = str(TABLES)
    fit(SUBJECT, runs(*HOPPER), tables=TABLES)
    assert str(TABLES) == before


def test_the_same_runs_give_the_same_terms():
    assert (
        fit(SUBJECT, runs(*HOPPER), tables=TABLES).tables == fit(SUBJECT, runs(*HOPPER), tables=TABLES).tables
    )


def test_a_fit_of_what_is_fitted_moves_nothing_much():
    once = fit(SUBJECT, runs(*HOPPER, *ADA[:2]), tables=TABLES)
    again = fit(SUBJECT, runs(*HOPPER, *ADA[:2]), tables=once.tables)
    for moved in again.moved:
        assert moved.before is not None
        assert moved.after == pytest.approx(moved.before, rel=0.01)


def test_a_chip_with_one_run_stays_near_its_class_and_goes_with_more():
    known = runs("rtx-4090", "rtx-4080")
    one = fit(SUBJECT, [*known, run("rtx-4070", SIZES[2], source="s2")], tables=TABLES)
    many = fit(SUBJECT, [*known, *runs("rtx-4070", source="s2")], tables=TABLES)
    of_class = by_id()["rtx-4060-ti-16gb"].terms_in(one.tables["chips"])["memory"]
    assert TRUTH["rtx-4070"] < share(one, "rtx-4070") < of_class
    assert abs(share(many, "rtx-4070") - TRUTH["rtx-4070"]) < abs(share(one, "rtx-4070") - TRUTH["rtx-4070"])


def test_a_wild_run_moves_little():
    calm = fit(SUBJECT, runs(*HOPPER), tables=TABLES)
    wild = fit(SUBJECT, [*runs(*HOPPER), run(HOPPER[0], SIZES[1], noise=20)], tables=TABLES)
    assert share(wild, HOPPER[0]) == pytest.approx(share(calm, HOPPER[0]), rel=0.02)


def test_a_large_source_does_not_outvote_a_small_one():
    small = [run(HOPPER[0], size, source="small", share=0.8) for size in SIZES for _ in range(10)]
    large = [run(HOPPER[0], size, source="large", share=0.6) for size in SIZES for _ in range(200)]
    assert share(fit(SUBJECT, [*small, *large], tables=TABLES), HOPPER[0]) == pytest.approx(0.7, abs=0.04)


def test_bounds_hold():
    fast = [run(chip, size, share=1.6) for chip in HOPPER for size in SIZES]
    assert share(fit(SUBJECT, fast, tables=TABLES), HOPPER[0]) <= 1.0


def test_a_term_that_says_what_its_class_says_is_not_written():
    same = [run(chip, size, share=0.7) for chip in HOPPER for size in SIZES for _ in range(5)]
    chips = fit(SUBJECT, same, tables=TABLES).tables["chips"]
    assert all("memory" not in chips.get(chip, {}) for chip in HOPPER)


def test_what_cannot_be_predicted_counts_as_a_large_error_and_stops_nothing():
    rows = runs(*HOPPER)
    rows[0]["size"] = math.nan
    fitted = fit(SUBJECT, rows, tables=TABLES)
    assert np.isnan(fitted.after[0])
    assert share(fitted, HOPPER[0]) == pytest.approx(TRUTH[HOPPER[0]], rel=0.02)


def test_nothing_to_learn_from_is_said():
    with pytest.raises(LabError, match="no run teaches toy"):
        fit(SUBJECT, [], tables=TABLES)


def test_progress_is_told_and_what_is_left_only_falls():
    told = []
    fit(SUBJECT, runs(*HOPPER, *ADA), tables=TABLES, progress=lambda turn, left: told.append((turn, left)))
    turns, left = zip(*told, strict=True)
    assert list(turns) == list(range(1, len(told) + 1))
    assert list(left) == sorted(left, reverse=True)


def test_a_chip_left_out_is_predicted_by_its_class():
    rows = runs(*ADA[:2], source="a") + runs("rtx-4070", source="b")
    left = leave_out(fit(SUBJECT, rows, tables=TABLES), "chip")
    slow = [error for error, row in zip(left.errors, rows, strict=True) if row["chip"] == "rtx-4070"]
    # the class reads at 0.9, this one at 0.5: long reads are told far too short
    assert min(slow) < math.log(0.5 / 0.9) / 2
    known = [error for error, row in zip(left.errors, rows, strict=True) if row["chip"] != "rtx-4070"]
    assert np.abs(known).max() < np.abs(slow).max()


@pytest.mark.parametrize("by", ["source", "chip", "model"])
def test_leaving_out_fast_is_leaving_out_slowly(by):
    rows = [
        run(chip, size, source=f"s{number % 3}", model=f"m{number % 2}", noise=1 + 0.03 * (number % 4))
        for number, chip in enumerate((*HOPPER, *ADA[:2]) * 5)
        for size in SIZES
    ]
    fitted = fit(SUBJECT, rows, tables=TABLES)
    fast, slow = leave_out(fitted, by), leave_out(fitted, by, fresh=True)
    assert np.abs(fast.errors - slow.errors).max() < 0.02
    assert fast.groups == slow.groups


def test_left_out_errors_are_those_of_a_fit_that_never_saw_the_source():
    rows = runs(*HOPPER, source="a") + [run(HOPPER[0], size, source="b", share=0.5) for size in SIZES]
    left = leave_out(fit(SUBJECT, rows, tables=TABLES), "source")
    without = fit(SUBJECT, [row for row in rows if row["source"] == "a"], tables=TABLES)
    alone = [row for row in rows if row["source"] == "b"]
    predicted = SUBJECT.predict(SUBJECT.prepare(alone), without.tables)
    expected = np.log(predicted / np.array([row["value"] for row in alone]))
    assert left.errors[-len(alone) :] == pytest.approx(expected, abs=0.03)


def test_many_small_groups_share_folds_and_stay_whole():
    rows = [
        run(HOPPER[0], size, model=f"m{number}") for number in range(40) for size in SIZES[: 1 + number % 3]
    ]
    left = leave_out(fit(SUBJECT, rows, tables=TABLES), "model")
    assert len(set(left.folds)) == 10
    for name in set(left.groups):
        assert len({fold for fold, group in zip(left.folds, left.groups, strict=True) if group == name}) == 1


def test_rows_of_one_source_and_metric_share_what_it_counts_for():
    keys = [{"source": "a", "metric": "x"}] * 100 + [{"source": "b", "metric": "x"}] * 50
    weights = row_weights(keys)
    assert weights[:100].sum() == pytest.approx(weights[100:].sum())
    taught = np.arange(150) >= 20
    assert not row_weights(keys, taught)[:20].any()
    assert row_weights(keys, taught)[:100].sum() == pytest.approx(weights[:100].sum())


def test_terms_are_put_read_and_dropped_by_their_paths():
    tables = {"a": {"b": 1.0}, "c": 2.0}
    made = put(tables, {("a", "d", "e"): 3.0, ("c",): 4.0})
    assert (term(made, ("a", "d", "e")), term(made, ("c",)), term(made, ("a", "b"))) == (3.0, 4.0, 1.0)
    assert term(made, ("nothing", "there")) is None
    assert drop(made, ("a", "d", "e")) == {"a": {"b": 1.0, "d": {}}, "c": 4.0}
    assert tables == {"a": {"b": 1.0}, "c": 2.0}


def test_dials_hang_below_their_parents_in_any_order():
    child, parent = Dial(path=("x",), parent=("y",)), Dial(path=("y",), prior=2.0)
    hung = tree((child, parent), {})
    assert [dial.path for dial in hung.dials] == [("y",), ("x",)]
    begun = start(hung, {"y": 4.0})
    assert hung.values(begun) == pytest.approx([4.0, 4.0])
    assert hung.values(np.zeros(2)) == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize(
    "dials",
    [
        (Dial(path=("x",), prior=1.0), Dial(path=("x",), prior=1.0)),
        (Dial(path=("x",), parent=("y",)), Dial(path=("y",), parent=("x",))),
    ],
)
def test_dials_that_make_no_tree_are_refused(dials):
    with pytest.raises(LabError):
        tree(dials, {})


def test_a_root_without_prior_begins_where_its_tables_stand():
    assert tree((Dial(path=("x",)),), {"x": 3.0}).values(np.zeros(1)) == pytest.approx([3.0])
    with pytest.raises(LabError, match="the term x has no value above zero"):
        tree((Dial(path=("x",)),), {})


def test_terms_that_shall_stay_do_and_what_is_left_out_is_still_refitted():
    rows = runs(*HOPPER, source="a") + runs(*ADA[:2], source="b")
    fitted = fit(SUBJECT, rows, tables=TABLES, still=True)
    assert fitted.tables == TABLES
    assert fitted.moved == ()
    assert fitted.after == pytest.approx(fitted.before)
    left = leave_out(fitted, "source")
    assert np.abs(left.errors).mean() < np.abs(fitted.before).mean()
