"""`calibrate --from`: own runs are kept, and believed in part."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import DataError
from rigright.base.tables import DATA
from rigright.faces.cli.main import main
from rigright.facts import anchors as store
from rigright.verbs.calibrate import toml
from rigright.verbs.calibrate.anchoring import anchor, posterior
from rigright.verbs.validate.frame import validate

HEAD = "id,source,engine,model,arch,chip,n_chips,weights,mode,load,prompt_tok,output_tok,metric,value"
LENGTHS = [128, 512, 1024, 2048]
HOPPER, ADA = "h100-sxm5-80gb", "rtx-4090"
WORDS = """# A toy.

[chips.all]
memory = 0.6  # a share of what the facts state

# about notes
[notes]
why = "a # inside"
"""


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))


def asked(length, chip=HOPPER, value=""):
    case = f"{chip},1,gguf:Q4_K_M,single,1,{length},128,decode_tok_s_per_user,{value}"
    return f"r,me,llama.cpp,,meta-llama/Llama-3.1-8B,{case}"


def own(tmp_path, *rows):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def fast(tmp_path):
    """A run as it is predicted, times something."""

    def made(length, chip=HOPPER, times=1.0):
        (row,) = validate(own(tmp_path, asked(length, chip))).rows
        return asked(length, chip, value=row.predictions[0].predicted * times)

    return made


def test_own_runs_move_figures_part_of_the_way_and_are_kept(tmp_path, fast):
    found = anchor(own(tmp_path, *(fast(size, times=1.3) for size in LENGTHS)))
    (one,) = found.anchors
    assert (one.chip, one.engine, one.figure, one.runs) == (HOPPER, "llama.cpp", "decode", 4)
    assert one.measured_ratio == pytest.approx(1.3, rel=0.01)
    assert 1.15 < one.shift < 1.3
    assert one.low_before < one.low < 1 < one.high < one.high_before
    with store.use(None):
        (kept,) = store.anchors()
    assert kept.shift == pytest.approx(one.shift, rel=1e-3)
    assert found.saved == str(store.place())


def test_one_run_is_believed_less_than_many(tmp_path, fast):
    (one,) = anchor(own(tmp_path, fast(LENGTHS[0], times=1.3))).anchors
    (many,) = anchor(own(tmp_path, *(fast(size, times=1.3) for size in LENGTHS * 5))).anchors
    assert 1 < one.shift < many.shift < 1.3
    assert many.narrow < one.narrow < 1


def test_own_runs_of_another_chip_stand_beside_those_kept(tmp_path, fast):
    out = str(tmp_path / "kept.toml")
    anchor(own(tmp_path, fast(LENGTHS[0])), out=out)
    anchor(own(tmp_path, fast(LENGTHS[0], chip=ADA, times=1.2)), out=out)
    anchor(own(tmp_path, fast(LENGTHS[0], times=0.9)), out=out)
    with store.use(out):
        kept = {one.chip: one for one in store.anchors()}
    assert set(kept) == {HOPPER, ADA}
    assert kept[HOPPER].shift < 1 < kept[ADA].shift


def test_a_wild_run_is_told_and_not_believed(tmp_path, fast):
    found = anchor(own(tmp_path, fast(LENGTHS[0]), fast(LENGTHS[1], times=50)))
    assert found.runs == 1
    assert any("50 times what is predicted" in str(fault) for fault in found.faults)


def test_own_runs_without_a_measured_figure_are_said(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEAD}\n{asked(128)}\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no measured speed"):
        anchor(str(path))


def test_the_answer_says_where_own_runs_are_kept(tmp_path, fast, capsys):
    out = tmp_path / "kept.toml"
    assert main(["calibrate", "--from", own(tmp_path, fast(LENGTHS[0], times=1.2)), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "kept.toml" in "".join(line.strip() for line in shown.splitlines()), "a long path goes on below"
    assert "1.20x" in shown
    assert out.is_file()


def test_without_a_file_it_says_what_is_needed(capsys):
    assert main(["calibrate"]) == 2
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
