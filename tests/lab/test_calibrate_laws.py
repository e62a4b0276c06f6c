"""Laws of the parts of a calibration: trees of terms, weights, tables as text, files, what stays known."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_subject import HEAD, HOPPER, SUBJECT, TABLES, run

from lab import runs as reading
from lab.descent import newton, slopes_at, stand
from lab.leave_out import leave_out
from lab.problem import LOUDEST, log_ratio, pose
from lab.record import Dial, LabError
from lab.refit import macro_median, support
from lab.runs import files_beside, read_runs, taught
from lab.solve import fit
from lab.tables_text import comments_of, dump, head_of
from lab.terms import drop, put, rounded, start, term, tree
from lab.weights import STRENGTH, row_weights
from rigright.base.errors import DataError
from rigright.base.units import GIGA
from rigright.verbs.calibrate import toml

NAMES = st.text(alphabet="abcdefgh-_. 019", min_size=1, max_size=8).filter(lambda text: text.strip() == text)
LEAVES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.text(alphabet='abc "\\#[]=é', max_size=10),
    st.lists(st.floats(0, 1), max_size=3),
)
TABLES_AT_ALL = st.recursive(
    st.dictionaries(NAMES, LEAVES, min_size=1, max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(LEAVES, inner), min_size=1, max_size=4),
    max_leaves=12,
)
GOOD = st.floats(0.01, 100)


@given(TABLES_AT_ALL)
def test_any_table_reads_back_as_it_was_written(table):
    assert tomllib.loads(dump(table, head="# any", comments={})) == table


@given(TABLES_AT_ALL)
def test_comments_survive_being_written(table):
    paths = [(name,) for name, value in table.items() if not isinstance(value, dict)]
    comments = dict.fromkeys(paths, "seen twice")
    text = dump(table, head="# head\n# and more", comments=comments)
    assert head_of(text) == "# head\n# and more"
    assert {path for path, told in comments_of(text).items() if told == "seen twice"} >= set(paths)


def test_a_table_that_is_none_is_not_written(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text("a = 1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.toml"):
        toml.write(path, "a = = 2")
    assert path.read_text(encoding="utf-8") == "a = 1\n"
    toml.write(path, "a = 2\n")
    assert [one.name for one in tmp_path.iterdir()] == ["t.toml"]
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {"a": 2}


@given(st.lists(GOOD, min_size=4, max_size=4), st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_values_and_distances_of_terms_are_each_others_inverse(priors, steps):
    dials = (
        Dial(path=("all",), prior=priors[0]),
        Dial(path=("kin",), parent=("all",), prior=priors[1]),
        Dial(path=("class",), parent=("kin",), prior=priors[2]),
        Dial(path=("chip",), parent=("class",), prior=priors[3]),
    )
    hung = tree(dials, {})
    values = hung.values(np.array(steps))
    assert hung.steps(values) == pytest.approx(steps, abs=1e-9)
    assert values[-1] == pytest.approx(priors[0] * np.exp(sum(steps)))
    tables = put({}, {dial.path: float(value) for dial, value in zip(hung.dials, values, strict=True)})
    assert start(hung, tables) == pytest.approx(steps, abs=1e-9)


@given(st.floats(-3, 3))
def test_a_term_keeps_within_its_bounds(step):
    hung = tree((Dial(path=("x",), prior=0.5, low=0.25, high=1.0),), {})
    assert 0.25 - 1e-12 <= hung.values(np.array([step]))[0] <= 1.0 + 1e-12


@given(st.dictionaries(st.tuples(NAMES, NAMES), GOOD, min_size=1, max_size=5))
def test_what_is_put_is_there_and_what_is_dropped_is_gone(values):
    made = put({}, values)
    for path, value in values.items():
        assert term(made, path) == value
        assert term(drop(made, path), path) is None


@given(st.floats(1e-9, 1e12))
def test_rounding_a_term_changes_little(value):
    assert rounded(value) == pytest.approx(value, rel=6e-3)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=300))
def test_no_source_counts_for_more_than_another_of_its_size_or_more(pairs):
    keys = [{"source": source, "metric": metric} for source, metric in pairs]
    weights = row_weights(keys)
    heaped = {}
    for pair, weight in zip(pairs, weights, strict=True):
        heaped[pair] = heaped.get(pair, 0.0) + weight
    for pair, sum_of in heaped.items():
        assert sum_of == pytest.approx(min(pairs.count(pair), STRENGTH))


def test_pages_of_one_source_share_what_it_counts_for():
    pages = [{"source": f"lab:page{n % 2}", "metric": "x"} for n in range(100)]
    assert row_weights(pages).sum() == pytest.approx(STRENGTH)


@given(GOOD, GOOD)
def test_errors_are_told_as_logarithms_of_ratios(predicted, measured):
    (ratio,) = log_ratio(np.array([predicted]), np.array([measured]))
    assert ratio == pytest.approx(np.clip(np.log(predicted / measured), -LOUDEST, LOUDEST))


@pytest.mark.parametrize(
    ("predicted", "measured"), [(0.0, 1.0), (-1.0, 1.0), (np.inf, 1.0), (np.nan, 1.0), (1.0, 0.0)]
)
def test_what_is_no_figure_has_no_error(predicted, measured):
    assert np.isnan(log_ratio(np.array([predicted]), np.array([measured]))).all()


def rows():
    return [
        run(chip, GIGA * size, source=f"s{n % 3}") for chip in HOPPER for n, size in enumerate((1, 4, 16, 64))
    ]


def test_slopes_are_what_turning_a_dial_does():
    problem = pose(SUBJECT, rows(), tables=TABLES)
    place = stand(problem, start(problem.hung, TABLES), weights=np.ones(8))
    slopes = slopes_at(problem, place)
    for number in range(len(problem.hung.dials)):
        turned = place.steps.copy()
        turned[number] += 1e-4
        told = (problem.errors(turned) - place.errors) / 1e-4
        assert slopes[:, number] == pytest.approx(told, abs=0.02)


def test_a_step_of_newton_points_down():
    problem = pose(SUBJECT, rows(), tables=TABLES)
    weights = np.ones(8)
    place = stand(problem, start(problem.hung, TABLES), weights=weights)
    step = newton(problem, place, slopes=slopes_at(problem, place), weights=weights, damping=10.0)
    assert stand(problem, place.steps + 0.1 * step, weights=weights).left < place.left


def test_each_term_tells_the_runs_that_move_it():
    behind = support(fit(SUBJECT, rows(), tables=TABLES))
    assert behind["chips", "all", "memory"] == (8, 3)
    assert behind["chips", HOPPER[0], "memory"] == (4, 3)


def test_medians_are_averaged_over_sources():
    errors = np.log([1.1, 1.1, 1.1, 1.5])
    sources = np.array(["a", "a", "a", "b"], dtype=object)
    assert macro_median(errors, sources) == pytest.approx(0.3)
    assert np.isnan(macro_median(np.array([np.nan]), np.array(["a"], dtype=object)))


@pytest.mark.parametrize("by", ["source", "chip", "model", "a key nobody bears"])
def test_every_row_is_left_out_once(by):
    left = leave_out(fit(SUBJECT, rows(), tables=TABLES), by)
    assert np.isfinite(left.errors).all()
    assert len(left.groups) == len(left.folds) == 8


def test_a_bad_measured_cell_costs_the_figure_and_not_the_row(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(f"{HEAD}\na,s,vllm,m,{HOPPER[0]},serve,10,tpot_ms,fast\n", encoding="utf-8")
    read = read_runs(str(path))
    assert read.kind == "inference"
    assert read.rows[0]["value"] is None
    assert str(read.faults[0]) == "r.csv, line 2, value: 'fast'"


def test_an_empty_cell_that_is_needed_is_told(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(f"{HEAD}\na,s,vllm,m,{HOPPER[0]},serve,10,,5\n", encoding="utf-8")
    read = read_runs(str(path))
    assert read.rows == ()
    assert str(read.faults[0]) == "r.csv, line 2, metric: ''"


def test_rows_that_teach_nothing_are_no_faults():
    good = rows()
    used, faults = taught(SUBJECT, [*good, {**good[0], "value": 0.0}])
    assert (len(used), faults) == (8, ())


def test_without_runs_beside_the_program_a_file_must_be_named(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MEASURED", tmp_path / "nothing")
    with pytest.raises(LabError, match="name files with --runs"):
        files_beside()
