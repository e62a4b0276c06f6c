"""`validate`: any file of runs, row by row; what cannot be answered says why, and the rest goes on."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import DataError, MissingError
from rigright.base.words import CHINESE, tell
from rigright.faces.cli.main import main
from rigright.report.pages import validate as pages
from rigright.verbs.validate.kinds.training import KIND
from rigright.verbs.validate.record import HEADER, Judged, Prediction, predictions_csv, scores
from rigright.verbs.validate.verb import FOLDER, validate

HEAD = (
    "id,source,model,arch,shape,chip,n_chips,framework,precision,method,optimizer,sharding,tp,pp,cp,ep,dp,"
    "micro_batch,global_batch,seq_tok,recompute,flags,tok_per_s_per_chip,peak_gib,peak_kind,note"
)
GOOD = {
    "id": "r1",
    "source": "ours:notes.md",
    "arch": "mistralai/Mistral-7B-v0.1",
    "chip": "a100-sxm4-80gb",
    "n_chips": "1",
    "framework": "HF Trainer",
    "precision": "bfloat16",
    "method": "full",
    "sharding": "none",
    "micro_batch": "4",
    "seq_tok": "4096",
    "recompute": "full",
    "peak_gib": "67.46",
    "peak_kind": "allocated",
}


def table(*rows, head=HEAD):
    out = io.StringIO()
    writer = csv.DictWriter(out, head.split(","), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.fixture
def write(tmp_path):
    def put(*rows, head=HEAD, name="runs.csv"):
        path = tmp_path / name
        path.write_text(table(*rows, head=head), encoding="utf-8")
        return str(path)

    return put


def peak(row: Judged) -> Prediction:
    return next(one for one in row.predictions if one.metric == "peak_gib")


def test_a_run_is_predicted_with_a_band_and_held_against_what_was_measured(write):
    found = validate(write(GOOD))
    one = peak(found.rows[0])
    assert found.kind == "training"
    assert one.group == "allocated"
    assert one.predicted == pytest.approx(67.46, rel=0.02)
    assert one.low < one.predicted < one.high
    assert one.holds
    assert one.error == pytest.approx(one.predicted / 67.46 - 1)


def test_measured_columns_may_be_empty_or_absent(write):
    empty = validate(write(GOOD | {"peak_gib": ""}))
    assert peak(empty.rows[0]).predicted
    assert peak(empty.rows[0]).error is None
    head = HEAD.replace("tok_per_s_per_chip,peak_gib,", "")
    absent = validate(write(GOOD, head=head))
    assert peak(absent.rows[0]).predicted == peak(empty.rows[0]).predicted
    assert not absent.scores


def test_a_row_without_a_chip_has_a_peak_and_says_why_it_has_no_speed(write):
    speed, memory = validate(write(GOOD | {"chip": ""})).rows[0].predictions
    assert speed.predicted is None
    assert speed.why
    assert memory.predicted


def test_a_bad_cell_names_row_and_column_and_the_others_go_on(write):
    found = validate(write(GOOD | {"micro_batch": "four"}, GOOD, GOOD | {"seq_tok": "-1"}))
    first, second, third = (peak(row) for row in found.rows)
    assert re.search(r' 2, .*micro_batch: .*"four"', str(first.why))
    assert str(first.why).count("micro_batch") > 1, "and what is taken in its place"
    assert first.high / first.low > second.high / second.low
    assert re.search(r' 4, .*seq_tok: .*"-1"', str(third.why))


def test_a_row_whose_metric_is_empty_is_not_answered(write):
    head = "id,source,engine,engine_version,model,arch,chip,mode,load,metric,value"
    row = {"id": "1", "engine": "vllm", "mode": "serve", "arch": GOOD["arch"], "chip": GOOD["chip"]}
    one = validate(write(row, head=head)).rows[0].predictions[0]
    assert one.predicted is None
    assert re.search(r" 2, .*metric: ", str(one.why))


def test_a_bad_measured_cell_hinders_no_prediction(write):
    one = peak(validate(write(GOOD | {"peak_gib": "a lot"})).rows[0])
    assert one.predicted
    assert one.measured is None


def test_a_copy_of_a_model_is_wider_and_said_and_an_unknown_one_refused(write):
    copy, known, unknown = map(
        peak,
        validate(
            write(
                GOOD | {"arch": f"{GOOD['arch']}-Nobodys-Own", "optimizer": "AdamW"},
                GOOD | {"optimizer": "AdamW"},
                GOOD | {"arch": "nobody/never-heard-of-9b", "optimizer": "AdamW"},
            )
        ).rows,
    )
    assert "Nobodys-Own" in str(copy.why)
    assert copy.predicted == known.predicted
    assert copy.high / copy.low > 1.2 * known.high / known.low
    assert unknown.predicted is None
    assert "never-heard-of-9b" in str(unknown.why)


def test_a_model_that_is_named_nowhere_is_a_reason_not_a_crash(write):
    found = validate(write(GOOD | {"arch": "", "model": ""}, GOOD))
    assert peak(found.rows[0]).predicted is None
    assert peak(found.rows[0]).why
    assert peak(found.rows[1]).predicted


def test_a_missing_column_is_named(write):
    with pytest.raises(DataError, match="micro_batch"):
        validate(write(GOOD, head=HEAD.replace("micro_batch,", "")))


def test_what_a_row_leaves_open_is_said(write):
    lora = GOOD | {"method": "lora"}
    one = peak(validate(write(lora | {"micro_batch": "", "seq_tok": "", "framework": ""})).rows[0])
    assert str(one.why).count("micro_batch") == 2, "what is assumed, and what it decides"
    assert "GiB" in str(one.why)
    told = peak(validate(write(GOOD | {"optimizer": "paged_adamw_8bit"})).rows[0])
    assert one.low / one.predicted < told.low / told.predicted
    assert "PyTorch" in str(one.why)
    assert one.predicted


def test_a_shape_stands_in_for_a_config(write):
    shape = "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,gated=yes"
    one = peak(validate(write(GOOD | {"arch": "", "shape": shape})).rows[0])
    assert one.predicted == pytest.approx(67.46, rel=0.03)


def test_a_vocabulary_of_250_is_250_thousand(write):
    shape = "layers=8,hidden=1024,heads=8,kv_heads=8,ffn=4096,vocab={},gated=no"
    short, long = (
        peak(validate(write(GOOD | {"arch": "", "shape": shape.format(vocab)})).rows[0])
        for vocab in (250, 250000)
    )
    assert short.predicted == long.predicted
    assert "vocab=250 " in str(short.why)
    assert "vocab" not in str(long.why)


def test_more_stages_than_layers_are_layers_of_a_stage(write):
    shape = "layers=8,hidden=1024,heads=8,kv_heads=8,ffn=4096,vocab=32000,gated=no"
    row = GOOD | {"arch": "", "shape": shape, "pp": "16", "n_chips": "16", "framework": "Megatron-LM"}
    odd, plain = peak(validate(write(row)).rows[0]), peak(validate(write(row | {"pp": "4"})).rows[0])
    assert odd.predicted
    assert odd.why, "how it was read"
    assert plain.why is None


def test_a_card_that_holds_what_is_needed_is_never_overfilled(write):
    row = GOOD | {"peak_kind": "device", "precision": "bf16-mixed", "micro_batch": "8"}
    one = peak(validate(write(row)).rows[0])
    assert 67.46 < one.predicted <= 80


def test_kinds_of_peaks_are_never_pooled(write):
    found = validate(write(GOOD, GOOD | {"peak_kind": "device", "peak_gib": "75"}))
    groups = {score.group for score in found.scores if score.metric == "peak_gib"}
    assert groups == {"allocated", "device"}


def test_a_strange_table_lists_what_is_known(write):
    with pytest.raises(DataError) as caught:
        validate(write({"colour": "red"}, head="colour,taste"))
    assert "training.csv" in str(caught.value)
    assert "memory.csv" in str(caught.value) or "inference.csv" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"\xff\xfe\x00", b'id,"x\n', b"PK\x03\x04" * 9])
def test_files_that_are_no_table(tmp_path, content):
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(DataError):
        validate(str(path))


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(MissingError):
        validate(str(tmp_path / "none.csv"))
    with pytest.raises(MissingError, match=re.escape(str(tmp_path))):
        validate(str(tmp_path))


cells = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", "0", "-3", "1e9", "nan", "inf", "8.0", "8.5", "true", "full", "99999999999999999999"]
    ),
)


@given(st.dictionaries(st.sampled_from(sorted(KIND.columns)), cells))
def test_no_row_can_break_a_file(tmp_path_factory, row):
    path = tmp_path_factory.mktemp("fuzz") / "runs.csv"
    path.write_text(table(GOOD | row, GOOD), encoding="utf-8")
    try:
        found = validate(str(path))
    except DataError:
        return  # a cell tore the table itself
    for judged in found.rows:
        for one in judged.predictions:
            assert one.predicted is not None or one.why is not None
            if one.predicted is not None:
                assert 0 < one.low <= one.predicted <= one.high


def test_predictions_are_one_line_a_row_and_metric(write):
    found = validate(write(GOOD, GOOD | {"id": "r2", "arch": "", "model": ""}))
    lines = list(csv.DictReader(io.StringIO(predictions_csv(found))))
    assert tuple(lines[0]) == HEADER
    assert [(line["id"], line["metric"], line["answered"]) for line in lines] == [
        ("r1", "tok_per_s_per_chip", "yes"),
        ("r1", "peak_gib", "yes"),
        ("r2", "tok_per_s_per_chip", "no"),
        ("r2", "peak_gib", "no"),
    ]
    for line in lines[:2]:
        assert 0 < float(line["low"]) < float(line["predicted"]) < float(line["high"])
    assert lines[3]["predicted"] == ""
    assert lines[3]["why"]


def off(error, source="a"):
    """A row that is so far off."""
    one = Prediction(metric="m", group="g", measured=1.0, predicted=1 + error, low=0.5, high=2.0)
    return Judged(line=1, id="1", source=source, chip="c", model="n", predictions=(one,))


def test_scores_weigh_every_source_alike():
    rows = [off(0.1, "a:x")] * 9 + [off(0.5, "b:y")]
    macro = next(score for score in scores(rows) if score.of == "group")
    assert macro.median_error == pytest.approx(0.3)
    assert macro.measured == 10
    assert macro.band_coverage == 1
    assert {score.name for score in scores(rows) if score.of == "source"} == {"a", "b"}


def test_an_error_below_counts_as_one_above():
    for sign in (1, -1):
        found = scores([off(sign * error) for error in (0.1, 0.15, 0.3, 0.5)])[0]
        assert (found.within_20_percent, found.median_error) == (0.5, pytest.approx(0.225))
        assert found.bias == pytest.approx(sign * 0.225)


def test_the_command_prints_writes_and_speaks_chinese(write, tmp_path, capsys):
    runs, out = write(GOOD), tmp_path / "out.csv"
    assert main(["validate", runs, "--predictions", str(out)]) == 0
    assert "peak_gib (allocated)" in capsys.readouterr().out
    assert out.read_text(encoding="utf-8").startswith("id,metric,predicted")
    assert main(["--lang", "zh", "validate", runs]) == 0
    assert "区间内" in capsys.readouterr().out


def test_json_holds_every_row_and_score(write, capsys):
    assert main(["validate", write(GOOD), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    data = data.get("data", data)
    assert data["rows"][0]["predictions"][1]["answered"] is True
    assert data["scores"][0]["of"] == "group"


def test_predictions_can_go_to_standard_output(write, capsys):
    assert main(["validate", write(GOOD), "--predictions", "-"]) == 0
    assert capsys.readouterr().out.startswith("id,metric,predicted")
    assert main(["validate", write(GOOD), "--predictions", "-", "--json"]) == 2


def test_runs_can_come_from_standard_input(monkeypatch, capsys):
    class Pipe:
        buffer = io.BytesIO(table(GOOD).encode())

    monkeypatch.setattr("sys.stdin", Pipe())
    assert main(["validate", "-"]) == 0
    assert "stdin" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_is_one_sentence(write, tmp_path, capsys):
    code = main(["validate", write(GOOD), "--predictions", str(tmp_path / "no" / "such" / "out.csv")])
    assert code == 3
    assert "out.csv: No such file or directory" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence(write, capsys):
    assert main(["validate", write(GOOD), "--predictions", "/dev/full"]) == 5
    assert "/dev/full: No space left" in capsys.readouterr().err


def test_every_kind_bears_its_contract():
    from rigright.base import shelf

    for name, kind in shelf.load(FOLDER, "KIND").items():
        assert kind.name == name
        assert set(kind.marks) <= set(kind.columns)
        assert set(kind.needed) <= set(kind.columns)
        assert kind.metrics({}) or name == "memory"


def test_the_page_tells_what_was_not_answered(write):
    found = validate(write(GOOD | {"arch": "", "model": "", "chip": "nobody's"}))
    page = pages.page(found)
    shown = " ".join(tell(item, CHINESE) for item in page.parts[-1].items)
    assert "arch、shape、model" in shown


def test_a_table_whose_notes_quote_a_log_is_still_a_table(tmp_path):
    path = tmp_path / "memory.csv"
    note = "vllm 0.8: GPU KV cache size: 1,000 tokens; # GPU blocks: 1000; Available KV cache memory: 3 GiB"
    path.write_text(
        f'id,source,arch,format,what,value_gib,note\na,s,Qwen/Qwen3-8B,bf16,weights_file,15.3,"{note}"\n',
        encoding="utf-8",
    )
    found = validate(str(path))
    assert (found.kind, len(found.rows)) == ("memory", 1)
