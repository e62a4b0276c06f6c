"""Refitting: tables are written only when asked, and say what they rest on."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from toy_subject import ADA, FILED, HOPPER, TABLES, TRUTH, run, table

from lab import checking, refitting, writing
from lab.record import LabError
from rigright.base.units import GIGA

SIZES = [GIGA * size for size in (1, 3, 10, 30)]
WORDS = """# A toy.
# Its second line.

[chips.all]
memory = 0.6  # a share of what the facts state
start_s = 0.002

# about notes
[notes]
why = "a # inside"
"""


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    """Only the toy subject is there, and its tables stand in a folder of their own."""
    folder = tmp_path / "corrections"
    folder.mkdir()
    (folder / "toy.toml").write_text(WORDS, encoding="utf-8")
    real = refitting.shelf.load
    monkeypatch.setattr(
        refitting.shelf,
        "load",
        lambda place, name: {"toy": FILED} if place == refitting.SUBJECTS else real(place, name),
    )
    monkeypatch.setattr(
        refitting, "corrections", lambda name: tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
    )
    monkeypatch.setattr(writing, "FOLDER", folder)
    return folder


@pytest.fixture
def runs(tmp_path):
    luck = np.random.default_rng(4)
    rows = [
        run(
            chip, size, source=f"s{number}", model=f"m{number % 3}", noise=float(np.exp(luck.normal(0, 0.05)))
        )
        for number in range(6)
        for chip in (*HOPPER, *ADA[:2])
        for size in SIZES
    ]
    path = tmp_path / "runs.csv"
    path.write_text(table(rows), encoding="utf-8")
    return path


REFITS = {}  # what was refitted, and from which terms -> the refit


def refit_of(runs):
    of = (runs.read_bytes(), (writing.FOLDER / "toy.toml").read_bytes())
    if of not in REFITS:
        ((subject, done, _),) = refitting.refitted(files=[str(runs)])
        REFITS[of] = subject, done
    return *REFITS[of], (str(runs),)


def written(runs):
    subject, done, files = refit_of(runs)
    return refitting.keep(subject, done, files=files)


def test_a_refit_tells_what_moved_and_writes_nothing(runs, toy):
    before = {path: path.read_bytes() for path in toy.iterdir()}
    subject, done, _ = refit_of(runs)
    shown = "\n".join(refitting.report(subject, done))
    assert "toy: 96 runs of 6 sources" in shown
    assert "chips.nvidia-hopper.memory: as its class ->" in shown
    assert "(48 runs, 6 sources)" in shown
    assert {path: path.read_bytes() for path in toy.iterdir()} == before


def test_written_tables_read_back_and_say_what_they_rest_on(runs, toy):
    assert written(runs) == ("toy.toml", "bands_toy.toml")
    text = (toy / "toy.toml").read_text(encoding="utf-8")
    assert text.startswith(
        "# A toy.\n# Its second line.\n# Fitted by `python -m lab refit` on 96 runs of 6 sources"
    )
    assert "# about notes\n[notes]" in text
    assert "  # 96 runs, 6 sources" in text
    read = tomllib.loads(text)
    assert read["notes"] == {"why": "a # inside"}
    assert read["chips"]["all"]["start_s"] == pytest.approx(0.004, rel=0.1)
    bands = tomllib.loads((toy / "bands_toy.toml").read_text(encoding="utf-8"))
    assert bands["bands"]["tpot"]["low"] < 1 < bands["bands"]["tpot"]["high"]
    assert list(bands["seen"]["engines"]) == ["toy"]


def test_writing_twice_changes_nothing_more(runs, toy):
    written(runs)
    before = tomllib.loads((toy / "toy.toml").read_text(encoding="utf-8"))
    written(runs)
    again = tomllib.loads((toy / "toy.toml").read_text(encoding="utf-8"))
    assert again["chips"]["all"] == pytest.approx(before["chips"]["all"], rel=0.02)
    assert (toy / "toy.toml").read_text(encoding="utf-8").count("Fitted by") == 1


def test_what_is_committed_is_what_the_runs_give(runs, toy, monkeypatch):
    monkeypatch.setattr(refitting, "files_beside", lambda: (str(runs),))
    assert any("a refit moves" in line for line in checking.stale())
    written(runs)
    assert list(checking.stale()) == []
    path = toy / "bands_toy.toml"
    path.write_text(path.read_text("utf-8").replace("high = ", "high = 2"), encoding="utf-8")
    assert any("bands of" in line for line in checking.stale())


def test_bad_cells_cost_their_row_and_no_more(runs, capsys):
    text = runs.read_text(encoding="utf-8").splitlines()
    text[4] = text[4].replace(HOPPER[0], "rtx-nothing")
    runs.write_text("\n".join(text), encoding="utf-8")
    _, done, _ = refit_of(runs)
    assert len(done.fitted.problem.keys) == 95
    assert "row r3" in capsys.readouterr().err


def test_an_unknown_subject_is_said():
    with pytest.raises(LabError, match='no subject "speed"'):
        refitting.subjects(["speed"])


def test_the_toy_tables_are_those_of_the_fit():
    assert tomllib.loads(WORDS)["chips"] == TABLES["chips"]
    assert set(TRUTH) == {*HOPPER, *ADA}
