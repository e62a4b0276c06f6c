"""`calibrate --from`: own runs are kept, and believed in part."""

from __future__ import annotations

import json
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_files import LLAMA_BENCH
from examples import few
from lab.tables_text import comments_of, dump, head_of
from rigright.base.errors import DataError
from rigright.base.tables import DATA
from rigright.faces.cli.main import main
from rigright.facts import anchors as store
from rigright.facts.anchors import RunCase
from rigright.verbs.calibrate.verb import Cell, beliefs, calibrate
from rigright.verbs.validate.verb import validate

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
def own_settings(monkeypatch, tmp_path):
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
    found = calibrate(own(tmp_path, *(fast(size, times=1.3) for size in LENGTHS)))
    (one,) = found.anchors
    assert (one.chip, one.engine, one.figure, one.runs) == (HOPPER, "llama.cpp", "decode", 4)
    assert one.measured_ratio == pytest.approx(1.3, rel=0.01)
    assert 1.15 < one.shift < 1.3
    assert one.low_before < one.low < 1 < one.high < one.high_before
    with store.use(None):
        kept = store.anchors()
    assert [(len({one.model} - {""}), bool(one.load)) for one in kept] == [
        (0, False), (1, False), *[(1, True)] * len(LENGTHS)
    ]  # fmt: skip
    assert 1 < one.elsewhere == pytest.approx(kept[0].shift, rel=1e-3)
    assert one.elsewhere < kept[1].shift < min(each.shift for each in kept[2:]) < 1.3
    assert found.saved == str(store.place())


def test_one_run_is_believed_less_than_many(tmp_path, fast):
    (one,) = calibrate(own(tmp_path, fast(LENGTHS[0], times=1.3))).anchors
    (many,) = calibrate(own(tmp_path, *(fast(size, times=1.3) for size in LENGTHS * 5))).anchors
    assert 1 < one.shift < many.shift < 1.3
    assert many.narrow < one.narrow < 1


def test_own_runs_of_another_chip_stand_beside_those_kept(tmp_path, fast):
    out = str(tmp_path / "kept.toml")
    calibrate(own(tmp_path, fast(LENGTHS[0])), out=out)
    calibrate(own(tmp_path, fast(LENGTHS[0], chip=ADA, times=1.2)), out=out)
    calibrate(own(tmp_path, fast(LENGTHS[0], times=0.9)), out=out)
    with store.use(out):
        kept = {one.chip: one for one in store.anchors() if not one.model}
    assert set(kept) == {HOPPER, ADA}
    assert kept[HOPPER].shift < 1 < kept[ADA].shift


def test_a_wild_run_is_told_and_not_believed(tmp_path, fast):
    found = calibrate(own(tmp_path, fast(LENGTHS[0]), fast(LENGTHS[1], times=50)))
    assert found.runs == 1
    assert any("50x" in str(fault) for fault in found.faults)


def test_own_runs_without_a_measured_figure_are_said(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEAD}\n{asked(128)}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"mine\.csv \(inference "):
        calibrate(str(path))


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


CASES = st.builds(
    RunCase,
    weights=st.sampled_from(["bf16", "fp8"]),
    load=st.sampled_from([1.0, 8.0, 64.0, 100.0]),
    prompt_tok=st.sampled_from([128.0, 1000.0, 4096.0]),
    output_tok=st.sampled_from([128.0, 1024.0]),
)
CELLS = st.lists(
    st.builds(
        Cell,
        model=st.sampled_from(["a", "b", "c"]),
        case=CASES,
        logs=st.lists(st.floats(-1.4, 1.4), min_size=1, max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda cell: (cell.model, cell.case),
)


@given(CELLS, st.floats(0.02, 1.0), st.floats(0.1, 0.95))
def test_no_case_is_moved_beyond_its_own_runs_or_away_from_them(cells, spread, shared):
    """The law of the tool: between what was predicted (0) and what was measured, whatever the others say."""
    found = beliefs(cells, spread=spread, shared=shared)
    for cell, belief in zip(cells, found.cases, strict=True):
        moved = math.log(belief.shift)
        for measured in cell.logs:
            assert min(0.0, measured) - 1e-9 <= moved <= max(0.0, measured) + 1e-9
            assert abs(moved - measured) <= abs(measured) + 1e-9
        assert 0 < belief.narrow <= 1
    least, most = (pick(log for cell in cells for log in (*cell.logs, 0.0)) for pick in (min, max))
    for belief in (found.any_model, *found.models.values()):
        assert least - 1e-9 <= math.log(belief.shift) <= most + 1e-9
        assert 0 < belief.narrow <= 1


@given(st.integers(1, 60), st.floats(0.02, 1.0), st.floats(0.1, 0.9), st.floats(-1.0, 1.0))
def test_laws_of_belief(count, spread, shared, off):
    """More runs are believed more; the case more than its model, its model more than others."""

    def of(runs):
        cell = Cell(model="a", case=RunCase(load=1.0), logs=(off,) * runs)
        found = beliefs([cell], spread=spread, shared=shared)
        return found.cases[0], found.models["a", ""], found.any_model

    case, model, others = of(count)
    sizes = [abs(math.log(one.shift)) for one in (others, model, case)]
    assert sizes == sorted(sizes)
    assert all(math.log(one.shift) * off >= 0 for one in (case, model, others))
    more = of(count + 1)[0]
    assert abs(math.log(more.shift)) >= abs(math.log(case.shift)) - 1e-12
    assert case.narrow <= model.narrow <= others.narrow
    assert more.narrow <= case.narrow + 1e-12


def test_a_row_that_was_right_stays_though_others_were_not(tmp_path, fast):
    """480 tok/s measured and predicted near it: runs of other loads that were faster do not carry it off."""
    rows = [fast(LENGTHS[0], times=0.98), *(fast(size, times=1.6) for size in LENGTHS[1:])]
    calibrate(own(tmp_path, *rows))
    with store.use(None):
        after = [row.predictions[0] for row in validate(own(tmp_path, *rows)).rows]
    with store.use(store.NONE):
        before = [row.predictions[0] for row in validate(own(tmp_path, *rows)).rows]
    for old, new in zip(before, after, strict=True):
        low, high = sorted((old.predicted, old.measured))
        assert low * 0.9999 <= new.predicted <= high * 1.0001
    assert after[3].predicted > 1.3 * before[3].predicted


SERVED = "id,engine,engine_version,arch,chip,n_chips,tp,weights,mode,load,prompt_tok,output_tok,metric,value"
METRICS = ("ttft_ms", "tpot_ms", "output_tok_s_total", "latency_ms")


def served(tmp_path, name, *, metrics, loads, times):
    """Served runs; `times` of what is predicted by metric and load, as drawn."""
    path = tmp_path / name
    lines = [
        f"{metric}:{load},vllm,0.11,meta-llama/Llama-3.1-8B,{HOPPER},1,1,bf16,serve,{load},1024,256,{metric},"
        for metric in metrics
        for load in loads
    ]
    path.write_text("\n".join([SERVED, *lines]) + "\n", encoding="utf-8")
    found = {row.id: row.predictions[0].predicted for row in validate(str(path)).rows}
    lines = [line + f"{found[line.partition(',')[0]] * times[line.partition(',')[0]]:.8g}" for line in lines]
    path.write_text("\n".join([SERVED, *lines]) + "\n", encoding="utf-8")
    return str(path)


@few
@given(st.data())
def test_figures_hang_together_whatever_own_runs_say(tmp_path_factory, data):
    """After any shifts: output tokens/s never above concurrency / TPOT; latency is TTFT and TPOT."""
    tmp_path = tmp_path_factory.mktemp("drawn")
    loads = (1, 16, 128)
    measured = data.draw(st.sets(st.sampled_from(METRICS[:3]), min_size=1))
    factors = {f"{metric}:{load}": data.draw(st.floats(0.4, 2.5)) for metric in METRICS for load in loads}
    mine = served(tmp_path, "mine.csv", metrics=sorted(measured), loads=loads[1:], times=factors)
    out = str(tmp_path / "anchors.toml")
    calibrate(mine, out=out)
    every = served(tmp_path, "all.csv", metrics=METRICS, loads=loads, times=dict.fromkeys(factors, 1.0))
    with store.use(out):
        after = {row.id: row.predictions[0] for row in validate(every).rows}
    for load in loads:
        ttft, tpot, output, latency = (after[f"{metric}:{load}"].predicted for metric in METRICS)
        assert output <= load / tpot * 1000 * 1.0001
        assert latency == pytest.approx(ttft + 255 * tpot)
        assert all(after[f"{metric}:{load}"].low < after[f"{metric}:{load}"].high for metric in METRICS)


def test_explain_and_plan_take_the_case_that_was_measured(tmp_path, capsys):
    times = {f"{metric}:{load}": 1.3 for metric in METRICS for load in (16, 128)}
    mine = served(tmp_path, "mine.csv", metrics=("tpot_ms",), loads=(16, 128), times=times)
    out = str(tmp_path / "anchors.toml")
    calibrate(mine, out=out)
    load = "--prompt 1024 --output 256 --concurrency 16 --json"
    words = f"--on h100 --engine vllm --weights bf16 {load}".split()

    def tpot_s(*more):
        assert main(["explain", "meta-llama/Llama-3.1-8B", *words, *more]) == 0
        return json.loads(capsys.readouterr().out)["speed"]["tpot_s"]["value"]

    before, after = tpot_s("--anchors", "none"), tpot_s("--anchors", out)
    assert 1.2 < after / before <= 1.3001
    assert main(["plan", "meta-llama/Llama-3.1-8B", *words, "--anchors", out]) == 0
    plan = json.loads(capsys.readouterr().out)["plans"][0]
    assert plan["figures"]["tpot_s"]["value"] == pytest.approx(after, rel=1e-6)
    assert plan["figures"]["output_tok_per_s"]["value"] <= 16 / after * 1.0001


def test_tables_are_written_as_they_are_read():
    text = dump(tomllib.loads(WORDS), head=head_of(WORDS), comments=comments_of(WORDS))
    assert text == WORDS
    odd = {"a": {"b c": {"x": [1, 2.5, 'q"uote']}}, "top": True}
    assert tomllib.loads(dump(odd, head="# odd", comments={})) == odd


@pytest.mark.parametrize("path", sorted((DATA / "corrections").glob("*.toml")), ids=lambda path: path.stem)
def test_every_table_of_corrections_can_be_written_again(path):
    text = path.read_text(encoding="utf-8")
    again = dump(tomllib.loads(text), head=head_of(text), comments=comments_of(text))
    assert tomllib.loads(again) == tomllib.loads(text)


def test_a_case_that_is_too_far_off_to_be_believed_stays_where_it_was(tmp_path, fast):
    rows = [fast(LENGTHS[0], times=8), *(fast(size, times=0.7) for size in LENGTHS[1:])]
    calibrate(own(tmp_path, *rows))
    with store.use(None):
        after = validate(own(tmp_path, *rows)).rows[0].predictions[0].predicted
    with store.use(store.NONE):
        before = validate(own(tmp_path, *rows)).rows[0].predictions[0].predicted
    assert after == pytest.approx(before)


def test_as_much_as_fits_is_a_case_of_its_own(tmp_path):
    """Offline runs name no concurrency; their own measurement still bounds them."""
    head = SERVED.replace(",load", "")
    how = "meta-llama/Llama-3.1-8B,{chip},1,1,bf16,max"
    line = "r{place},vllm,0.11," + how + ",{prompt},256,output_tok_s_total,{value}"

    def table(values):
        path = tmp_path / "max.csv"
        rows = [
            line.format(place=place, chip=HOPPER, prompt=prompt, value=value)
            for place, (prompt, value) in enumerate(values.items())
        ]
        path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
        return str(path)

    lengths = (128, 1024, 4096)
    before = [row.predictions[0].predicted for row in validate(table(dict.fromkeys(lengths, ""))).rows]
    values = {size: one * times for size, one, times in zip(lengths, before, (0.97, 1.6, 1.5), strict=True)}
    calibrate(table(values))
    with store.use(None):
        after = [row.predictions[0].predicted for row in validate(table(values)).rows]
    assert values[128] * 0.999 <= after[0] <= before[0] * 1.001
    assert before[1] * 1.1 < after[1] <= values[1024] * 1.001


def test_runs_on_a_processor_are_anchored(tmp_path):
    """What llama-bench writes on a machine without a card."""
    one = LLAMA_BENCH | {"backends": "CPU", "gpu_info": "", "n_gen": 64, "n_prompt": 0, "avg_ts": 11.0}
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps([one]), encoding="utf-8")
    found = calibrate(str(path), out=str(tmp_path / "a.toml"))
    assert found.anchors[0].chip.startswith("cpu-")
