"""Tables that people made themselves: their headings, units and statistics are read, and the rest is said."""

from __future__ import annotations

import json

import pytest

from rigright.base.errors import DataError
from rigright.verbs.validate.verb import validate

ROW = {"GPU": "2x H100", "Model": "Qwen/Qwen3-32B", "Precision": "fp8", "Concurrency": "16"}
SENT = {"Input Tokens": "1,024", "Output Tokens": "256"}


def table(folder, *rows, name="runs.csv", apart=","):
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, *[[row.get(head, "") for head in heads] for row in rows]]
    text = "\n".join(apart.join(f'"{cell}"' if apart == "," else cell for cell in line) for line in lines)
    (folder / name).write_text(text + "\n")
    return validate(str(folder / name))


def predictions(found):
    return {one.metric: one for row in found.rows for one in row.predictions}


@pytest.mark.parametrize(
    ("head", "cell", "metric", "measured"),
    [
        ("TTFT (ms)", "210", "ttft_ms", 210),
        ("mean_ttft_s", "0.21", "ttft_ms", 210),
        ("Mean TTFT", "0.21", "ttft_ms", 210),
        ("ttft", "210", "ttft_ms", 210),
        ("TPOT p50 (ms)", "22.1", "tpot_ms", 22.1),
        ("interTokenLatency_us", "22100", "tpot_ms", 22.1),
        ("E2E latency [s]", "5.2", "latency_ms", 5200),
        ("Throughput (tok/s)", "1.9k", "output_tok_s_total", 1900),
        ("output tokens/s", "640 tok/s", "output_tok_s_total", 640),
        ("Total throughput", "3,200", "total_tok_s", 3200),
        ("req/s", "2.5", "requests_s_total", 2.5),
        ("TTFT", "0.21 s", "ttft_ms", 210),
        ("TTFT (s)", "210 ms", "ttft_ms", 210),
        ("TTFT (s)", "0,21", "ttft_ms", 210),
        ("Throughput (tok/s)", "1,880", "output_tok_s_total", 1880),
        ("首 Token 延迟(ms)", "210", "ttft_ms", 210),
        ("吞吐", "640", "output_tok_s_total", 640),
    ],
)
def test_a_heading_is_read_with_its_unit(tmp_path, head, cell, metric, measured):
    (one,) = predictions(table(tmp_path, {**ROW, **SENT, head: cell})).values()
    assert (one.metric, one.measured) == (metric, pytest.approx(measured))
    assert one.predicted is not None


def test_each_metric_of_a_row_is_compared_and_a_tail_is_not_taken_for_a_mean(tmp_path):
    found = table(
        tmp_path, {**ROW, **SENT, "P99 TTFT (ms)": "900", "Mean TTFT (ms)": "200", "TPOT (ms)": "20"}
    )
    assert {name: one.measured for name, one in predictions(found).items()} == {"ttft_ms": 200, "tpot_ms": 20}
    assert all("P99 TTFT (ms)" in str(one.why) for one in predictions(found).values())


def test_one_bad_row_leaves_the_others_and_keeps_its_line(tmp_path):
    rows = [{**ROW, **SENT, "TTFT (ms)": "210"}, {**ROW, "GPU": "potato", "TTFT (ms)": "1"}]
    good, bad = table(tmp_path, *rows).rows
    assert good.predictions[0].predicted is not None
    assert bad.predictions[0].predicted is None
    assert (good.id, bad.id) == ("runs.csv:2", "runs.csv:3")


@pytest.mark.parametrize("apart", [",", ";", "\t"])
def test_what_separates_its_cells_changes_nothing(tmp_path, apart):
    found = table(tmp_path, {**ROW, "ISL": "1024", "OSL": "256", "TTFT (ms)": "210"}, apart=apart)
    assert predictions(found)["ttft_ms"].measured == 210


def test_markdown_and_json_say_the_same(tmp_path):
    row = {**ROW, "ISL": "1024", "OSL": "256", "TTFT (ms)": "210"}
    lines = ["| " + " | ".join(row) + " |", "|---" * len(row) + "|", "| " + " | ".join(row.values()) + " |"]
    (tmp_path / "runs.md").write_text("\n".join(lines))
    (tmp_path / "runs.json").write_text(json.dumps([row]))
    first, second = (
        predictions(validate(str(tmp_path / name)))["ttft_ms"] for name in ("runs.md", "runs.json")
    )
    assert (first.predicted, first.measured) == (second.predicted, second.measured)
    assert first.measured == 210


def test_a_row_that_names_no_engine_is_answered_as_a_question(tmp_path):
    row = {"model": "llama-3.1-8b", "hardware": "rtx 4090", "batch_size": "1", "prompt_tokens": "512"}
    (one,) = predictions(table(tmp_path, {**row, "new_tokens": "128", "tokens_per_second": "62"})).values()
    assert one.metric == "decode_tok_s_per_user"
    assert one.predicted is not None


def test_a_cell_s_own_unit_goes_before_its_column_s(tmp_path):
    rows = [{**ROW, **SENT, "TTFT": cell} for cell in ("900 ms", "1.2 s", "450")]
    found = table(tmp_path, *rows).rows
    assert [row.predictions[0].measured for row in found] == [900, 1200, 450]


@pytest.mark.parametrize("cell", ["8,192", "8k", "8192.0"])
def test_lengths_are_read_as_people_write_them(tmp_path, cell):
    row = {**ROW, "OSL": "128", "TTFT (ms)": "300"}
    plain, written = (predictions(table(tmp_path, {**row, "ISL": one}))["ttft_ms"] for one in ("8192", cell))
    assert written.predicted == plain.predicted
    assert written.why == plain.why


def test_a_load_that_nobody_states_is_said(tmp_path):
    row = {name: cell for name, cell in ROW.items() if name != "Concurrency"}
    stated, open_one = (
        predictions(table(tmp_path, {**one, **SENT, "TTFT (ms)": "90"}))["ttft_ms"]
        for one in (row | {"Concurrency": "1"}, row)
    )
    assert stated.predicted == open_one.predicted
    assert "concurrency" not in str(stated.why)
    assert "concurrency" in str(open_one.why)


def test_a_rate_may_be_a_fraction(tmp_path):
    row = {name: cell for name, cell in ROW.items() if name != "Concurrency"}
    one = predictions(table(tmp_path, {**row, **SENT, "Request rate": "0.5", "TTFT (ms)": "90"}))["ttft_ms"]
    assert one.predicted is not None
    assert "rate" not in str(one.why)


def test_a_table_keeps_the_names_of_its_runs(tmp_path):
    (row,) = table(tmp_path, {"id": "friday", **ROW, **SENT, "TTFT (ms)": "90"}).rows
    assert row.id == "friday"


def test_tokens_of_all_cards_are_divided_among_them(tmp_path):
    row = {"model": "llama-3.1-8b", "gpu": "A100 80GB", "gpus": "8", "method": "lora", "micro_batch": "2"}
    found = predictions(
        table(tmp_path, {**row, "seq_len": "2048", "tokens_per_s": "41000", "peak_mem_gb": "48"})
    )
    assert found["tok_per_s_per_chip"].measured == 5125
    assert found["peak_gib"].measured == 48


def test_a_table_of_something_else_is_refused(tmp_path):
    with pytest.raises(DataError):
        table(tmp_path, {"city": "Oslo", "model": "T", "year": "1910"})
