"""`bench` from its wish to its files: kept, saved, read again, broken off, told as page and JSON."""

# ruff: noqa: ARG001 - fixtures set the scene, and played parts bear the names of the real ones
from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rigright
from lab.runs import read_runs
from refusals import refused
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.words import say
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.device import Device
from rigright.machine.history.store import open_history
from rigright.machine.record import Machine
from rigright.verbs.bench import verb
from rigright.verbs.bench.record import read_results
from rigright.verbs.bench.rows import images
from rigright.verbs.bench.verb import BenchWish, Keep, bench, bench_from

MACHINE = Machine(
    devices=tuple(Device(index=index, vendor="nvidia", name="NVIDIA H100 80GB HBM3") for index in range(2))
)


def figure(part, what, value, on="gpu 0", unit="flops_per_s", **more):
    return Result(
        part=part,
        what=what,
        on=on,
        value=value,
        unit=unit,
        low=value,
        high=value,
        repeats=5,
        at_s=1.79e9,
        **more,
    )


FIGURES = (
    figure("gemm", "bf16 square", 780e12, settings=(("shape", "8192x8192x8192"),)),
    figure("gemm", "bf16 square", 300e12, on="gpu 1", settings=(("shape", "8192x8192x8192"),)),
    figure(
        "train_step",
        "resnet50 amp compile",
        1234.5,
        unit="items_per_s",
        settings=(
            *(("image", "224"), ("layout", "nchw"), ("batch", "64")),
            *(("precision", "amp"), ("torch", "2.9.1+cu130")),
        ),
    ),
    figure(
        "data_loader",
        "best",
        900.0,
        on="cpu",
        unit="items_per_s",
        settings=(("num_workers", "8"), ("batch_size", "16"), ("persistent_workers", "True"), ("torch", "2")),
    ),
    figure("launch", "hand over", 5e-6, unit="s"),
)
GONE = Skipped(part="peer", why=say("only one GPU"))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(verb, "probe", lambda _: MACHINE)
    return tmp_path


@pytest.fixture
def played(home, monkeypatch):
    def measured(names, wish, *, machine, env, progress, began_s):
        for index, name in enumerate(names):
            progress(name, (index, len(names)))
            yield from (one for one in FIGURES if one.part == name)
            if name == "peer":
                yield GONE

    monkeypatch.setattr(verb, "measured", measured)
    return home


def test_figures_are_judged_and_kept_in_the_history(played):
    result = bench()
    assert {(one.result.on, one.verdict) for one in result.results if one.result.part == "gemm"} == {
        ("gpu 0", "expected"),
        ("gpu 1", "slow"),
    }
    assert [one.result.on for one in result.slow_results] == ["gpu 1"]
    assert result.skipped == (GONE,)
    with open_history() as history:
        assert str(history.path) == result.history
        assert set(history.last_results(MACHINE)) == set(FIGURES)


def test_a_history_that_cannot_be_written_costs_only_itself(played, monkeypatch):
    blocked = played / "file"
    blocked.write_text("x", encoding="utf-8")
    monkeypatch.setenv("RIGRIGHT_HOME", str(blocked / "below"))
    result = bench("gemm")
    assert result.history is None
    assert str(blocked / "below") in str(result.notes[0])
    assert len(result.results) == 2
    assert bench("gemm", keep=Keep(history=False)).notes == ()


def test_what_is_saved_is_read_again_as_it_was(played):
    file = str(played / "bench.json")
    made = bench(keep=Keep(save=file), wish=BenchWish(quick=True))
    again = bench_from(file)
    assert again.results == made.results
    assert (again.skipped, again.quick, again.machine) == (made.skipped, True, MACHINE)


def test_a_folder_is_no_file_to_save_in(played):
    with refused(AskError, played):
        bench("gemm", keep=Keep(save=str(played)))
    with refused(MissingError, played / "nosuch"):
        bench("gemm", keep=Keep(save=str(played / "nosuch" / "x.json")))


def test_a_log_is_held_against_this_machine(home):
    log = home / "nccl.log"
    log.write_text(
        " 1073741824  268435456  float  sum  -1  7000.0  153.39  153.39  0  7010.0  153.17  153.17  0\n",
        encoding="utf-8",
    )
    result = bench_from(str(log))
    assert [one.result.part for one in result.results] == ["nccl_tests"]
    assert result.machine is MACHINE
    assert len(result.notes) == 1, "with what it was compared"


def test_another_file_is_told(home):
    file = home / "other"
    for text in (
        "",
        "hello",
        "{}",
        '{"rigright_bench": 1}',
        '{"rigright_bench": 1, "results": 3}',
        "[" * 5000,
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError):
            bench_from(str(file))
    with refused(MissingError, home / "nosuch"):
        bench_from(str(home / "nosuch"))


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=8), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from(["part", "what", "value", "why", "say", "values",
    "results", "skipped", "machine", "settings", "low"]), inner, max_size=4), max_leaves=20))  # fmt: skip
def test_foreign_results_are_an_error_of_ours_or_read(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("foreign") / "x.json"
    told = {"results": [data], "skipped": [], "machine": {}} | (data if isinstance(data, dict) else {})
    file.write_text(json.dumps(told | {"rigright_bench": 1}), encoding="utf-8")
    try:
        found = read_results(str(file))
    except RigError:
        return
    assert all(isinstance(one, Result) for one in found.results)


# ---- broken off


def test_what_was_measured_before_a_break_is_kept_told_and_saved(home, monkeypatch):
    def measured(names, wish, *, machine, env, progress, began_s):
        progress(names[0], (0, len(names)))
        yield FIGURES[0]
        progress(names[1], (1, len(names)))
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "measured", measured)
    file = home / "bench.json"
    result = bench("gemm", "launch", "ram", keep=Keep(save=str(file)))
    assert result.stopped
    assert [one.part for one in result.skipped] == ["launch", "ram"]
    assert result.skipped[0].why != result.skipped[1].why, "one was broken off, the other not begun"
    assert len(read_results(str(file)).results) == 1
    with open_history() as history:
        assert history.last_results(MACHINE) == (FIGURES[0],)


# ---- runs for calibrate


def test_training_of_resnet_becomes_a_run_that_calibrate_reads(played):
    result = bench("train-step", keep=Keep(rows=str(played / "rows")))
    (file,) = result.rows
    runs = read_runs(file)
    assert (runs.kind, runs.faults) == ("vision", ())
    (row,) = runs.rows
    assert (row["model"], row["gpu"], row["mode"], row["compile"]) == (
        *("resnet50", "h100-sxm5-80gb", "train", "torch.compile"),
    )
    assert row["samples_per_s"] == pytest.approx(1234.5)
    from rigright.verbs.validate.verb import validate

    scored = validate(file)
    assert scored is not None


def test_only_figures_that_mean_something_become_runs(home):
    cpu = replace(FIGURES[2], on="cpu")
    recomputed = replace(FIGURES[2], what="resnet50 amp recompute")
    assert list(images([cpu, recomputed, FIGURES[0]], MACHINE)) == []
    result = bench(
        "nosuch_part" if False else "launch", keep=Keep(rows=str(home / "rows")), wish=BenchWish(budget_s=0.5)
    )
    assert result.rows == ()
    assert not (home / "rows").exists()


# ---- as people and scripts see it


def said(capsys, *words):
    code = main(["bench", *words])
    told = capsys.readouterr()
    assert "Traceback" not in told.out + told.err
    return code, told.out, told.err


def test_the_page_leads_with_what_is_less_than_it_should_be(played, capsys):
    code, out, err = said(capsys, "--width", "100", "--lang", "en")
    assert (code, err) == (20, "")
    lines = out.splitlines()
    first, whole = lines[0], " ".join(out.split())
    assert first.startswith("✗ 1 of 3 ")
    assert "gemm bf16 square" in first
    assert "gpu 1" in first
    assert re.search(r"gpu 1: 300 TFLOP/s, \w+ \w+ 715 TFLOP/s", whole)
    assert "########.. 79%" in out
    assert "DataLoader(..., num_workers=8, persistent_workers=True)" in out
    assert "peer: " in out
    assert "rigright doctor --only gpu_throttled" in out
    assert max(map(len, lines)) <= 100


def test_repeats_that_lie_far_apart_are_told_and_those_that_do_not_are_not(home, monkeypatch, capsys):
    """On a box where others run, the middle of the repeats is no property of the machine."""
    shaken = replace(figure("cpu_gemm", "fp32", 4.6e9, on="cpu"), low=3.1e9, high=192e9)
    steady = replace(figure("cpu_gemm", "fp64", 20e9, on="cpu"), low=19e9, high=22e9)
    for figures, told in (((shaken, steady), True), ((steady,), False)):
        monkeypatch.setattr(verb, "measured", lambda *_, _figures=figures, **__: iter(_figures))
        code, out, _ = said(capsys, "cpu_gemm", "--lang", "en", "--width", "200")
        assert code == 0
        shown = re.search(r"cpu_gemm fp32, 3.1 GFLOP/s \w+ 0.19 TFLOP/s", out)
        assert bool(shown) is told


def test_what_was_measured_once_is_said_to_be(home, monkeypatch, capsys):
    """A single measurement bears no spread: the page does not let it look as firm as the others."""
    many = figure("cpu_gemm", "fp32", 4.6e9, on="cpu")
    once = [replace(figure("checkpoint", what, 2e9, on="cpu"), repeats=1) for what in ("a", "b")]
    for figures, told in (
        ((many,), None),
        ((many, *once), ": checkpoint\n"),
        ((many, once[0], replace(once[1], repeats=5)), ": checkpoint a\n"),
    ):
        monkeypatch.setattr(verb, "measured", lambda *_, _figures=figures, **__: iter(_figures))
        code, out, _ = said(capsys, "cpu_gemm", "--lang", "en", "--width", "200")
        assert code == 0
        assert (re.search(r": checkpoint[ a]*\n", out) is not None) is (told is not None)
        assert told is None or told in out


@pytest.mark.parametrize("words", [
    ("--width", "60"), ("--lang", "zh"), ("--markdown",), ("--html",), ("--csv",),
])  # fmt: skip
def test_every_form_and_language_shows_it(played, capsys, words):
    code, out, _ = said(capsys, *words)
    assert code == 20, "a card is at a third of the others: a fault, as the doctor says"
    assert "780" in out
    if words == ("--lang", "zh"):
        assert "低于预期" in out
    if words[0] == "--width":
        told = [line for line in out.splitlines() if not line.startswith("  $ ")]  # commands stay whole
        assert max(map(len, told)) <= 60


def test_scripts_get_every_figure_with_its_settings(played, capsys):
    _, out, _ = said(capsys, "--json")
    data = json.loads(out)
    assert data["slow"] == 1
    assert data["results"][0]["settings"] == {"shape": "8192x8192x8192"}
    _, listed, _ = said(capsys, "--list", "--json")
    assert {key for part in json.loads(listed)["parts"] for key in part} == {"part", "group", "title"}


def test_every_part_is_listed_with_what_it_measures(capsys):
    _, out, _ = said(capsys, "--list", "--lang", "en", "--width", "100")
    for name in verb.PARTS:
        assert f"\n{name} " in out


def test_wrong_asks_are_told(played, capsys):
    for words, told in (
        (("nosuch",), '"nosuch"'),
        (("--time", "soon"), '"soon"'),
        (("--time", "1ms"), "--time"),
        (("--from", "/nowhere/x.json"), "/nowhere/x.json"),
    ):
        code, _, err = said(capsys, *words, "--lang", "en")
        assert code in {2, 4}
        assert told in err


def test_a_break_ends_with_the_code_of_a_break_and_shows_what_there_is(home, monkeypatch, capsys):
    def measured(names, wish, *, machine, env, progress, began_s):
        yield FIGURES[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "measured", measured)
    code, out, _ = said(capsys, "gemm", "--lang", "en")
    assert code == 130
    assert "780 TFLOP/s" in out


def test_it_is_a_function_of_python_too(played):
    assert Path(bench("launch").history).exists()
    assert Path(rigright.bench("launch").history).exists()
