"""`validate` on what people really save: other encodings and separators, words and figures nobody knows."""

from __future__ import annotations

import re

import pytest

from rigright.base.errors import AskError, DataError
from rigright.base.page import Table
from rigright.faces.cli.main import main
from rigright.report.formats import text
from rigright.report.pages import validate as pages
from rigright.report.screen import Screen
from rigright.terms.training import peak_band
from rigright.verbs.runs.files import read_text
from rigright.verbs.validate import verb
from rigright.verbs.validate.verb import validate

GOOD = {
    "id": "r1",
    "source": "ours",
    "arch": "mistralai/Mistral-7B-v0.1",
    "framework": "HF Trainer",
    "precision": "bf16",
    "method": "full",
    "optimizer": "AdamW",
    "sharding": "none",
    "n_chips": "1",
    "micro_batch": "4",
    "seq_tok": "4096",
    "recompute": "full",
    "tok_per_s_per_chip": "",
    "peak_gib": "67.46",
}
MEMORY = {
    "id": "m1",
    "source": "ours",
    "model": "mistralai/Mistral-7B-v0.1",
    "format": "bf16",
    "context": "",
    "batch": "1",
    "what": "weights_file",
    "value_gib": "13.49",
}


def table(*rows, cut=","):
    lines = [cut.join(rows[0]), *(cut.join(row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def put(tmp_path):
    def write(content):
        path = tmp_path / "runs.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def last(found, row=0):
    return found.rows[row].predictions[-1]


def shown(found):
    return text.render(pages.page(found), Screen(width=120))


def test_a_word_nobody_knows_is_told_and_widens_the_band(put):
    low, high = peak_band("allocated", assumed=True)
    for column in ("method", "precision", "sharding", "recompute", "optimizer"):
        one = last(validate(put(table(GOOD | {column: "zzz"}))))
        assert f'{column} "zzz": ' in str(one.why)
        lower, higher = one.low / one.predicted, one.high / one.predicted
        if column in {"method", "recompute"}:  # and what it may be instead widens it further
            assert lower < low, column
            assert higher >= high * 0.999, column
        else:
            assert (lower, higher) == pytest.approx((low, high)), column


def test_a_word_that_is_known_is_not_called_unknown(put):
    for column, word in (
        ("method", "peft:xlora"),
        ("precision", "bf16-mixed"),
        ("precision", "TF32"),
        ("sharding", "FSDP SHARD_GRAD_OP"),
        ("recompute", "Yes"),
        ("optimizer", "adamw_bnb_8bit"),
    ):
        assert f'"{word}"' not in str(last(validate(put(table(GOOD | {column: word})))).why), word


def test_a_measured_figure_that_cannot_be_is_told_and_not_held(put):
    for figure in ("zzz", "-5", "0", "1e308", "nan"):
        for row, column in ((GOOD, "peak_gib"), (MEMORY, "value_gib")):
            one = last(validate(put(table(row | {column: figure}))))
            assert one.predicted, figure
            assert one.measured is None, figure
            assert column in str(one.why), figure
            assert f'"{figure}"' in str(one.why), figure


def test_a_length_or_batch_that_cannot_be_is_said_and_taken_as_unsaid(put):
    for column in ("context", "batch"):
        unsaid = last(validate(put(table(MEMORY | {column: ""}))))
        for figure in ("-5", "1e308", "0", "1.5"):
            one = last(validate(put(table(MEMORY | {column: figure}))))
            assert one.predicted == unsaid.predicted, (column, figure)
            assert one.low < unsaid.low < unsaid.high < one.high, (column, figure)
            assert re.search(rf'{column}: .*"{figure}"', str(one.why)), (column, figure)


def test_tables_of_offices_are_read(put):
    plain = last(validate(put(table(GOOD))))
    for cut in (";", "\t"):
        assert last(validate(put(table(GOOD, cut=cut)))) == plain, cut


def test_other_encodings_are_told_what_to_do(put):
    for encoding, note in (("latin-1", "é"), ("gbk", "显存")):
        with pytest.raises(DataError, match=r"runs\.csv .*CSV in UTF-8"):
            validate(put(table(GOOD | {"note": note}).encode(encoding)))


def test_a_table_that_a_spreadsheet_or_powershell_wrote_as_utf16_is_read(put):
    told = table(GOOD | {"note": "显存"})
    assert last(validate(put(told.encode("utf-16")))) == last(validate(put(told)))


def test_only_ends_of_lines_end_a_line(put):
    for sign in ("\u2028", "\f", "\u0085"):
        found = validate(put(table(GOOD | {"note": f'"one{sign}two"'}, GOOD | {"note": "three"})))
        assert [row.line for row in found.rows] == [2, 3], repr(sign)


def test_no_name_is_no_directory():
    with pytest.raises(AskError):
        validate("")


def test_a_head_alone_is_said_to_have_no_rows(put):
    found = validate(put(",".join(GOOD) + "\n"))
    assert found.rows == ()
    assert "\n! " in shown(found)


def test_a_tick_stands_only_where_something_was_held(put):
    assert pages.page(validate(put(table(GOOD)))).tone == "good"
    assert pages.page(validate(put(table(GOOD | {"peak_gib": ""})))).tone == "plain"


def test_pages_have_no_minus_zero_no_empty_table_and_no_one_times(put):
    found = validate(put(table(*[GOOD] * 17, GOOD | {"arch": "", "model": "", "micro_batch": "x"})))
    assert {score.of for score in found.scores if score.answered} >= {"source"}
    assert all(part.rows for part in pages.page(found).parts if isinstance(part, Table))
    assert re.search(r" 19, .*micro_batch: .*\"x\"", shown(found))
    assert pages._percent(-0.0004, signed=True) == "0.0 %"
    assert pages._percent(-0.04, signed=True) == "-4.0 %"


def test_rows_that_ask_the_same_are_predicted_once(put, monkeypatch):
    asked = []
    kind = verb.recognise(read_text(put(table(GOOD))))
    counted = verb.replace(kind, answers=lambda rows: asked.extend(rows) or kind.answers(rows))
    monkeypatch.setattr(verb, "recognise", lambda _text: counted)
    rows = [GOOD | {"id": f"r{place}", "peak_gib": f"6{place}"} for place in range(5)]
    found = validate(put(table(*rows, GOOD | {"micro_batch": "32"})))
    assert len(asked) == 2
    assert [last(found, place).measured for place in range(5)] == [60, 61, 62, 63, 64]
    assert last(found, 5).predicted > last(found, 0).predicted


def test_a_kind_that_comes_later_does_not_count_rows(put):
    page = shown(validate(put("engine,mode,metric,value\nvllm,serve,ttft,1\n")))
    assert "runs.csv: 1 " in page


def test_an_odd_file_is_one_sentence_at_the_command_line(put, capsys):
    assert main(["validate", put(b"\xff\xfe\x00")]) == 3
    assert "UTF-8" in capsys.readouterr().err


def test_a_table_of_something_else_is_not_told_that_a_column_is_missing(put):
    for header in (
        "id,source,target_model,draft,method,chip,dataset,accepted_tokens_mean,speedup,batch,note",
        "id,source,what,vendor,measured,rated,unit_text,avg_power_w",
        "id,source,model,tool,chip,precision,batch,mem_gib,note",
    ):
        with pytest.raises(DataError, match=r"runs\.csv .*memory\.csv"):
            validate(put(f"{header}\n" + "," * header.count(",") + "\n"))


def test_a_table_with_most_marks_is_told_the_column_that_it_lacks(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("id,arch,chip,seq_tok,method\nr1,gpt2,h100,1024,full\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"runs\.csv [^.]*micro_batch$"):
        validate(str(path))


SERVED = {
    "id": "s1", "source": "ours", "model": "qwen3-8b", "chip": "h100", "n_chips": "1", "engine": "vllm",
    "engine_version": "0.11", "mode": "serve", "load": "8", "prompt_tok": "1024", "output_tok": "256",
    "weights": "bf16", "kv": "16bit", "tp": "1", "pp": "1", "context_tok": "",
    "gpu_memory_utilization": "", "metric": "output_tok_s_total", "value": "900",
}  # fmt: skip
CONTRADICTIONS = (  # cells that name several things, or cannot be beside the others; what is said
    ({"weights": '"fp8,fp4"'}, "fp8,fp4"),
    ({"weights": "awq or gptq"}, "awq or gptq"),
    ({"weights": "fp64"}, "fp64"),
    ({"kv": "fp8;fp4"}, "fp8;fp4"),
    ({"engine": '"vLLM, SGLang"'}, "vLLM, SGLang"),
    ({"chip": '"h100,h200"'}, "h100,h200"),
    ({"chip": "h100 + a100"}, "h100 + a100"),
    ({"chip": "2x h100"}, "n_chips says 1"),
    ({"tp": "3"}, "needs 3 GPUs; there are 1"),
    ({"pp": "1000"}, "needs 1000 GPUs; there are 1"),
    ({"context_tok": "100"}, "1,280 tokens do not fit in a context of 100"),
    ({"mode": "online"}, "online"),
    ({"mode": "serve/batch"}, "serve/batch"),
)


@pytest.mark.parametrize(("cells", "said"), CONTRADICTIONS, ids=str)
def test_a_row_that_contradicts_itself_is_one_row_without_an_answer(put, cells, said):
    found = validate(put(table(SERVED, SERVED | cells, SERVED | {"id": "s3"})))
    first, bad, third = (row.predictions[0] for row in found.rows)
    assert bad.predicted is None
    assert said in str(bad.why)
    assert first.predicted is not None
    assert first.predicted == third.predicted


def test_a_mode_is_read_in_any_case_and_a_share_of_memory_is_at_most_all_of_it(put):
    plain = last(validate(put(table(SERVED))))
    assert last(validate(put(table(SERVED | {"mode": " Serve"})))).predicted == plain.predicted
    for share in ("95", "1.5"):
        one = last(validate(put(table(SERVED | {"gpu_memory_utilization": share}))))
        assert f'"{share}"' in str(one.why)


def test_a_cell_of_chips_that_counts_them_is_so_many(tmp_path):
    """However it is written, and whether or not another cell says it too."""
    head = "model,engine,chip,n_chips,tp,mode,metric,load,prompt_tok,output_tok"
    cells = ("8x h100,,", "8x h100,,8", "8x h100,8,8", "h100,8,", "H100 x8,,", "NVIDIA H100-SXM-80GB x 8,,")
    rows = [f"llama-3.1-70b,vllm,{cell},serve,output_tok_s_total,16,1000,200" for cell in cells]
    file = tmp_path / "inference.csv"
    file.write_text("\n".join([head, *rows]), encoding="utf-8")
    found = [row.predictions[0].predicted for row in validate(str(file)).rows]
    assert None not in found
    assert max(found) == pytest.approx(min(found))
