"""`calibrate`: tables are written only when asked; own runs are kept, and believed in part."""

from __future__ import annotations

import json
import math
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_subject import ADA, FILED, HEAD, HOPPER, TABLES, TRUTH, run, table

from rigright.base.errors import AskError, DataError
from rigright.base.tables import DATA
from rigright.base.units import GIGA
from rigright.faces.cli.main import main
from rigright.facts import anchors as store
from rigright.report.formats.text import render
from rigright.report.pages import calibrate as pages
from rigright.report.screen import Screen
from rigright.verbs.calibrate import anchoring, frame, toml, writing
from rigright.verbs.calibrate.anchoring import anchor, posterior

SIZES = [GIGA * size for size in (1, 3, 10, 30)]
SCREEN = Screen(width=120, colour=False, unicode=True, language="en")
CHINESE = Screen(width=120, colour=False, unicode=True, language="zh")
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
    """Only the toy subject is there, and tables stand in a folder of their own."""
    folder = tmp_path / "corrections"
    folder.mkdir()
    (folder / "toy.toml").write_text(WORDS, encoding="utf-8")
    monkeypatch.setattr(
        frame, "subjects", lambda name=None: (FILED,) if name in {None, "toy"} else frame_no(name)
    )
    monkeypatch.setattr(anchoring, "subjects", lambda: (FILED,))
    tables = tomllib.loads(WORDS)
    monkeypatch.setattr(frame, "corrections", lambda _: tables)
    monkeypatch.setattr(anchoring, "corrections", lambda _: tables)
    monkeypatch.setattr(writing, "FOLDER", folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return folder


def frame_no(name):
    raise AskError(frame.say('there is no subject "{name}"; there are: {there}', name=name, there="toy"))


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


def test_a_refit_tells_what_moved_and_writes_nothing(runs, toy):
    before = {path: path.read_bytes() for path in toy.iterdir()}
    found = frame.calibrate(runs=[str(runs)])
    (one,) = found.subjects
    assert one.runs == 96
    assert one.sources == 6
    moved = {term.path: term for term in one.moved}
    hopper = moved["chips", "nvidia-hopper", "memory"]
    assert hopper.before is None
    assert hopper.runs == 48
    (errors,) = one.errors
    assert errors.after < errors.before
    assert {path: path.read_bytes() for path in toy.iterdir()} == before


def test_written_tables_read_back_and_say_what_they_rest_on(runs, toy):
    found = frame.calibrate("toy", runs=[str(runs)], write=True)
    assert found.subjects[0].written == ("toy.toml", "bands_toy.toml")
    text = (toy / "toy.toml").read_text(encoding="utf-8")
    assert text.startswith(
        "# A toy.\n# Its second line.\n# Fitted by `rigright calibrate` on 96 runs of 6 sources"
    )
    assert "# about notes\n[notes]" in text
    assert "  # 96 runs, 6 sources" in text
    read = tomllib.loads(text)
    assert read["notes"] == {"why": "a # inside"}
    assert read["chips"]["all"]["start_s"] == pytest.approx(0.004, rel=0.1)
    bands = tomllib.loads((toy / "bands_toy.toml").read_text(encoding="utf-8"))
    assert bands["bands"]["tpot"]["low"] < 1 < bands["bands"]["tpot"]["high"]
    assert list(bands["seen"]["engines"]) == ["toy"]


def test_writing_twice_changes_nothing_more(runs, toy, monkeypatch):
    frame.calibrate(runs=[str(runs)], write=True)
    first = (toy / "toy.toml").read_text(encoding="utf-8")
    monkeypatch.setattr(frame, "corrections", lambda _: tomllib.loads(first))
    frame.calibrate(runs=[str(runs)], write=True)
    again = tomllib.loads((toy / "toy.toml").read_text(encoding="utf-8"))
    before = tomllib.loads(first)
    assert again["chips"]["all"] == pytest.approx(before["chips"]["all"], rel=0.02)
    assert (toy / "toy.toml").read_text(encoding="utf-8").count("Fitted by") == 1


def test_bad_cells_are_named_and_the_rest_is_used(runs):
    text = runs.read_text(encoding="utf-8").splitlines()
    text[3] = text[3].replace(",serve,", ",serve,many,", 1).replace("many,3", "many")
    text[4] = text[4].replace(HOPPER[0], "rtx-nothing")
    runs.write_text("\n".join(text), encoding="utf-8")
    found = frame.calibrate(runs=[str(runs)])
    told = [str(fault) for one in (found, *found.subjects) for fault in one.faults]
    assert any('line 4, column prompt_tok: cannot read "many"' in one for one in told)
    assert any("row r3" in one and "rtx-nothing" in one for one in told)
    assert found.subjects[0].runs == 94


def test_a_file_without_runs_of_a_speed_is_said(tmp_path):
    path = tmp_path / "memory.csv"
    path.write_text("id,source,format,what,value_gib\na,s,bf16,total,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no file has runs of inference"):
        frame.calibrate(runs=[str(path)])


def test_an_unknown_subject_is_said():
    with pytest.raises(AskError, match='no subject "speed"'):
        frame.calibrate("speed", runs=["x.csv"])


@pytest.mark.parametrize("screen", [SCREEN, CHINESE])
def test_the_page_tells_terms_errors_bands_and_what_to_type(runs, screen):
    shown = render(pages.page(frame.calibrate(runs=[str(runs)])), screen)
    for word in ("chips.nvidia-hopper.memory", "tpot_ms", "rigright calibrate --write"):
        assert word in shown


def test_the_plain_answer_is_json(runs, capsys):
    assert main(["calibrate", "--runs", str(runs), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (one,) = told["subjects"]
    assert one["subject"] == "toy"
    assert {"path", "before", "after", "runs", "sources"} <= set(one["moved"][0])
    assert {held["by"] for held in one["band_coverage"]} == {"source", "chip", "class", "model"}
    assert told["wrote"] is False


def own(tmp_path, *rows):
    path = tmp_path / "mine.csv"
    path.write_text(table(rows), encoding="utf-8")
    return str(path)


def fast(size, chip=HOPPER[0], times=1.0):
    """A run as the tables predict it, times something."""
    rate = run(chip, size, share=0.6)["value"] - 0.004 + 0.002
    return run(chip, size) | {"value": rate * times}


def test_own_runs_move_figures_part_of_the_way_and_are_kept(tmp_path):
    found = anchor(own(tmp_path, *(fast(size, times=1.3) for size in SIZES)))
    (one,) = found.anchors
    assert (one.chip, one.engine, one.figure, one.runs) == (HOPPER[0], "toy", "tpot", 4)
    assert one.measured_ratio == pytest.approx(1.3, rel=0.01)
    assert 1.15 < one.shift < 1.3
    assert one.low_before < one.low < 1 < one.high < one.high_before
    with store.use(None):
        (kept,) = store.anchors()
    assert kept.shift == pytest.approx(one.shift, rel=1e-3)
    assert found.saved == str(store.place())


def test_one_run_is_believed_less_than_many(tmp_path):
    (one,) = anchor(own(tmp_path, fast(SIZES[0], times=1.3))).anchors
    (many,) = anchor(own(tmp_path, *(fast(size, times=1.3) for size in SIZES * 5))).anchors
    assert 1 < one.shift < many.shift < 1.3
    assert many.narrow < one.narrow < 1


def test_own_runs_of_another_chip_stand_beside_those_kept(tmp_path):
    out = str(tmp_path / "kept.toml")
    anchor(own(tmp_path, fast(SIZES[0])), out=out)
    anchor(own(tmp_path, fast(SIZES[0], chip=ADA[0], times=1.2)), out=out)
    anchor(own(tmp_path, fast(SIZES[0], times=0.9)), out=out)
    with store.use(out):
        kept = {one.chip: one for one in store.anchors()}
    assert set(kept) == {HOPPER[0], ADA[0]}
    assert kept[HOPPER[0]].shift < 1 < kept[ADA[0]].shift


def test_a_wild_run_is_told_and_not_believed(tmp_path):
    found = anchor(own(tmp_path, fast(SIZES[0]), fast(SIZES[1], times=50)))
    assert found.runs == 1
    assert any("50 times what is predicted" in str(fault) for fault in found.faults)


def test_own_runs_without_a_measured_figure_are_said(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEAD}\nr1,me,toy,m,{HOPPER[0]},serve,3,tpot_ms,\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no measured speed"):
        anchor(str(path))


def test_the_answer_says_where_own_runs_are_kept(tmp_path, capsys):
    out = tmp_path / "kept.toml"
    assert main(["calibrate", "--from", own(tmp_path, fast(SIZES[0], times=1.2)), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "kept.toml" in "".join(line.strip() for line in shown.splitlines()), "a long path goes on below"
    assert "1.20x" in shown
    assert out.is_file()


@pytest.mark.parametrize(
    "line", [["--from", "x.csv", "--write"], ["--from", "x.csv", "--subject", "toy"], ["--out", "x.toml"]]
)
def test_options_that_do_not_go_together_are_said(line, capsys):
    assert main(["calibrate", *line]) == 2
    assert "--from" in capsys.readouterr().err


@given(
    st.integers(1, 200),
    st.floats(0.02, 1.0),
    st.floats(0.1, 0.9),
    st.floats(-1.0, 1.0),
)
def test_laws_of_belief(count, spread, shared, off):
    shift, narrow = posterior(np.full(count, off), spread=spread, shared=shared)
    assert abs(math.log(shift)) <= abs(off) + 1e-12
    assert math.log(shift) * off >= 0
    assert math.sqrt(1 - shared) - 1e-9 <= narrow < 1
    more = posterior(np.full(count + 1, off), spread=spread, shared=shared)
    assert abs(math.log(more[0])) >= abs(math.log(shift)) - 1e-12
    assert more[1] <= narrow


def test_tables_are_written_as_they_are_read():
    text = toml.dump(tomllib.loads(WORDS), head=toml.head_of(WORDS), comments=toml.comments_of(WORDS))
    assert text == WORDS
    odd = {"a": {"b c": {"x": [1, 2.5, 'q"uote']}}, "top": True}
    assert tomllib.loads(toml.dump(odd, head="# odd", comments={})) == odd


@pytest.mark.parametrize("path", sorted((DATA / "corrections").glob("*.toml")), ids=lambda path: path.stem)
def test_every_table_of_corrections_can_be_written_again(path):
    text = path.read_text(encoding="utf-8")
    again = toml.dump(tomllib.loads(text), head=toml.head_of(text), comments=toml.comments_of(text))
    assert tomllib.loads(again) == tomllib.loads(text)


def test_the_toy_tables_are_those_of_the_fit():
    assert tomllib.loads(WORDS)["chips"] == TABLES["chips"]
    assert set(TRUTH) == {*HOPPER, *ADA}
