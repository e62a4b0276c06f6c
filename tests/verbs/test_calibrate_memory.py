"""`calibrate --from` with starts and peaks: memory ends between prediction and measurement."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_files import FILES
from examples import few
from rigright.base.errors import DataError
from rigright.faces.cli.main import main
from rigright.facts import anchors as store
from rigright.verbs.calibrate.verb import calibrate
from rigright.verbs.validate.verb import validate

WHATS = ("kv_cache_available_per_gpu", "kv_tokens", "activation_peak_per_gpu", "non_torch_per_gpu")
START = {
    "id": "a", "source": "me", "model": "Qwen3-8B", "format": "bf16", "engine": "vllm",
    "engine_version": "0.11.0", "chip": "h100", "tp": "1", "max_model_len": "8192",
    "max_num_batched_tokens": "8192", "max_num_seqs": "256", "gpu_memory_utilization": "0.9",
}  # fmt: skip
PEAK = {
    "id": "t", "source": "me", "model": "llama-3.1-8b", "chip": "h100", "n_chips": "1", "framework": "trl",
    "precision": "bf16", "method": "lora", "optimizer": "adamw", "sharding": "none", "recompute": "full",
    "micro_batch": "4", "seq_tok": "2048", "peak_gib": "33", "peak_kind": "allocated", "flags": "lora_r=8",
}  # fmt: skip


def table(path, *rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def told(file, anchors, metric=None):
    """The figures of one file, by metric."""
    with store.use(anchors):
        read = validate(file)
    ones = [one for row in read.rows for one in row.predictions]
    return (
        {one.metric: one for one in ones} if metric is None else next(o for o in ones if o.metric == metric)
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Predictions of a start before anybody measured it."""
    rows = [START | {"id": what, "what": what, "value_gib": "1"} for what in WHATS]
    return told(table(tmp_path_factory.mktemp("bare") / "m.csv", *rows), store.NONE)


@given(
    what=st.sampled_from(WHATS),
    ratio=st.floats(0.9, 1.06),
)  # fmt: skip
def test_a_start_ends_between_what_was_predicted_and_what_was_measured(tmp_path_factory, bare, what, ratio):
    folder = tmp_path_factory.mktemp("own")
    before = bare[what]
    measured = before.predicted * ratio
    file = table(folder / "m.csv", START | {"what": what, "value_gib": f"{measured:.6f}"})
    try:
        calibrate(file, out=str(folder / "a.toml"))
    except DataError:  # a cache that leaves hardly anything to the rest is another run than was told
        assert what.startswith("kv")
        assert ratio > 1
        return
    after = told(file, str(folder / "a.toml"), what)
    low, high = sorted((before.predicted, measured))
    assert low * 0.9999 <= after.predicted <= high * 1.0001
    if abs(ratio - 1) > 0.01:
        assert abs(after.predicted - measured) < 0.75 * abs(before.predicted - measured), "hardly moved"
    assert after.high - after.low <= (before.high - before.low) * 1.1


@few
@given(ratio=st.floats(0.8, 1.5))
def test_a_peak_ends_between_and_its_band_narrows(tmp_path_factory, ratio):
    folder = tmp_path_factory.mktemp("peak")
    before = told(table(folder / "b.csv", PEAK), store.NONE, "peak_gib")
    measured = before.predicted * ratio
    file = table(folder / "t.csv", PEAK | {"peak_gib": f"{measured:.6f}"})
    calibrate(file, out=str(folder / "a.toml"))
    after = told(file, str(folder / "a.toml"), "peak_gib")
    low, high = sorted((before.predicted, measured))
    assert low * 0.999 <= after.predicted <= high * 1.001
    assert after.width < before.width


@pytest.mark.parametrize("log", ["vllm.log", "vllm_old.log", "sglang.log"])
def test_a_start_up_log_moves_memory_in_every_verb(tmp_path, capsys, log):
    file = tmp_path / log
    file.write_text(FILES[log])
    anchors = str(tmp_path / "a.toml")
    assert main(["calibrate", "--from", str(file), "--on", "2x h100", "--out", anchors]) == 0
    assert "beside weights" in " ".join(capsys.readouterr().out.split())
    engine, model = ("sglang", "qwen3-8b") if log == "sglang.log" else ("vllm", "qwen3-14b")
    ask = (model, "--on", "h100", "--engine", engine, "--context", "8192", "--json", "--anchors")

    def asked(*argv):
        assert main([*argv]) == 0
        return json.loads(capsys.readouterr().out)

    moved, plain = (asked("explain", *ask, one)["limits"]["pool_tok"] for one in (anchors, "none"))
    planned, without = (asked("plan", *ask, one)["plans"][0]["memory"] for one in (anchors, "none"))
    assert moved != plain
    assert planned != without


def test_gib_blocks_and_tokens_of_one_start_are_one_run(tmp_path, bare):
    rows = [
        START | {"id": what, "what": what, "value_gib": f"{bare[what].predicted * 0.97:.5f}"}
        for what in ("kv_cache_available_per_gpu", "kv_tokens")
    ]
    made = calibrate(table(tmp_path / "m.csv", *rows), out=str(tmp_path / "a.toml"))
    assert [one.runs for one in made.anchors] == [1]


def test_weights_are_counted_and_never_moved(tmp_path):
    row = START | {"what": "weights_per_gpu", "value_gib": "17"}
    file = table(tmp_path / "m.csv", row, row | {"id": "b", "what": "kv_tokens", "value_gib": "390000"})
    calibrate(file, out=str(tmp_path / "a.toml"))
    before, after = (
        told(file, one, "weights_per_gpu").predicted for one in (store.NONE, str(tmp_path / "a.toml"))
    )
    assert before == after
