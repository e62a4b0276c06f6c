"""Runs of one's own move what is told afterwards, and every answer that they moved says so."""

from __future__ import annotations

import csv
import json

import pytest

from rigright.faces.cli.main import main, verb_parser
from rigright.verbs.own import sentence

HEAD = (
    "id,source,engine,engine_version,arch,chip,n_chips,tp,weights,mode,load,prompt_tok,output_tok"
    ",metric,value"
)
NOTE = "(h100-sxm5-80gb, vllm, tpot); --anchors"  # what moved figures, and how to turn it off
ASKED = "meta-llama/Llama-3.1-8B,h100-sxm5-80gb,1,1,bf16,serve"


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path


def runs(folder, times=1.0, name="mine.csv"):
    """Served runs; with `times`, measured so many times what is predicted."""
    path = folder / name
    lines = [f"r{load},me,vllm,0.11,{ASKED},{load},1024,256,tpot_ms," for load in (1, 4, 16, 64)]
    path.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    if times != 1.0:
        found = predicted(path, folder, "--anchors", "none")
        lines = [line + f"{found[line.split(',')[0]] * times:.6g}" for line in lines]
        path.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return path


def predicted(path, folder, *more):
    out = folder / "out.csv"
    assert main(["validate", str(path), "--predictions", str(out), *more]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        return {row["id"]: float(row["predicted"]) for row in csv.DictReader(file)}


def width(path, folder, *more):
    predicted(path, folder, *more)
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        (row, *_) = csv.DictReader(file)
    return float(row["high"]) / float(row["low"])


def test_from_runs_to_figures_and_back(settings, capsys):
    path = runs(settings, times=1.3)
    before, wide = predicted(path, settings), width(path, settings)
    assert main(["calibrate", "--from", str(path)]) == 0
    assert "1.30x" in capsys.readouterr().out
    after = predicted(path, settings)
    for row, value in before.items():
        assert 1.05 < after[row] / value < 1.3
    assert width(path, settings) < wide
    assert NOTE in " ".join(capsys.readouterr().out.split())
    assert predicted(path, settings, "--anchors", "none") == pytest.approx(before)
    assert "--anchors" not in capsys.readouterr().out


def test_a_named_file_is_taken_instead(settings, capsys):
    path, out = runs(settings, times=0.8), settings / "kept.toml"
    before = predicted(path, settings)
    assert main(["calibrate", "--from", str(path), "--out", str(out)]) == 0
    assert predicted(path, settings) == pytest.approx(before)
    moved = predicted(path, settings, "--anchors", str(out))
    assert all(moved[row] < value for row, value in before.items())
    capsys.readouterr()
    assert main(["validate", str(path), "--anchors", str(out), "--json"]) == 0
    assert "h100-sxm5-80gb, vllm, tpot" in json.loads(capsys.readouterr().out)["own_runs"]


def test_other_chips_are_left_as_they_are(settings, capsys):
    path = runs(settings, times=1.3)
    main(["calibrate", "--from", str(path)])
    capsys.readouterr()
    other = settings / "other.csv"
    other.write_text(
        path.read_text(encoding="utf-8").replace("h100-sxm5-80gb", "a100-sxm4-80gb"), encoding="utf-8"
    )
    assert predicted(other, settings) == pytest.approx(predicted(other, settings, "--anchors", "none"))
    assert "--anchors" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["[[anchor]]\nchip = 1\n", "[[anchor"])
def test_a_broken_file_of_own_runs_is_said(settings, capsys, text):
    bad = settings / "bad.toml"
    bad.write_text(text, encoding="utf-8")
    path = runs(settings)
    code = main(["validate", str(path), "--anchors", str(bad)])
    told = capsys.readouterr()
    assert "bad.toml" in told.err + told.out
    assert code in {0, 3}


def test_a_file_of_own_runs_that_is_not_there_is_said(settings, capsys):
    assert main(["validate", str(runs(settings)), "--anchors", str(settings / "none.toml")]) == 4
    assert "none.toml" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "explain", "fit", "plan", "validate"])
def test_verbs_that_tell_speeds_know_the_option(verb):
    assert "--anchors" in verb_parser(verb, "en").format_help()


def test_nothing_is_said_where_nothing_was_moved():
    assert sentence(set()) is None
    assert "(a; b)" in str(sentence({"b", "a"}))
