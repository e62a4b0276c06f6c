"""What benchmarks write is read as rows of our tables; what it leaves open comes from options."""

from __future__ import annotations

import json
import re

import pytest

from benchmark_files import AIPERF, FILES, LLAMA_BENCH, SGLANG, TRAINER_STATE, VLLM_SERVE
from rigright.base.errors import DataError, MissingError
from rigright.faces.cli.main import main
from rigright.facts.anchors import use
from rigright.verbs.runs.columns import NOTHING_SAID, RunSetup, setup_of
from rigright.verbs.runs.document import document
from rigright.verbs.runs.files import output_of, outputs
from rigright.verbs.validate.verb import validate

NAMES = {
    "vllm_serve.json": "vllm bench", "vllm_appended.json": "vllm bench", "vllm_latency.json": "vllm bench",
    "vllm_throughput.json": "vllm bench", "sglang.jsonl": "sglang bench_serving",
    "profile_export_aiperf.json": "aiperf", "profile_export_genai_perf.csv": "aiperf",
    "benchmarks.json": "guidellm", "llama.json": "llama-bench", "llama.jsonl": "llama-bench",
    "llama.csv": "llama-bench", "llama.sql": "llama-bench", "llama.md": "llama-bench",
    "mlperf_log_summary.txt": "mlperf summary", "trainer_state.json": "hf trainer",
    "trainer.log": "hf trainer", "torchtune.txt": "torchtune", "vllm.log": "vllm log",
    "vllm_old.log": "vllm log", "sglang.log": "sglang log",
    "results.csv": "own table",
}  # fmt: skip


def read(name, text=None, **said):
    """The cells of each row, and its kind."""
    found = document(name, FILES[name] if text is None else text)
    runs = list(output_of(found).rows(found, RunSetup(values=said)))
    return [(run.kind, dict(run.cells)) for run in runs]


def by_metric(name, **more):
    return {cells["metric"]: cells for _, cells in read(name, **more)}


@pytest.fixture
def files(tmp_path):
    """Every sample in a folder."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", sorted(FILES))
def test_each_file_has_one_reader(name):
    found = document(name, FILES[name])
    assert output_of(found).name == NAMES[name]
    assert sum(one.claims(found) for one in outputs() if not one.by_hand) == (NAMES[name] != "own table")


def test_every_reader_has_a_sample():
    assert {one.name for one in outputs()} == set(NAMES.values())


def test_a_closed_loop_of_vllm_is_served_at_its_concurrency():
    found = by_metric("vllm_serve.json")
    assert set(found) == {"ttft_ms", "tpot_ms", "output_tok_s_total"}
    first = found["ttft_ms"]
    assert first["value"] == "210.5"
    assert (first["mode"], first["load"], first["engine"]) == ("serve", "32", "vllm")
    assert (first["prompt_tok"], first["output_tok"]) == ("1024", "256")
    assert first["measured"] == "2026-11-01"


def test_a_rate_is_turned_into_requests_in_flight():
    text = json.dumps(VLLM_SERVE | {"request_rate": 5.0, "max_concurrency": None, "request_throughput": 4.0})
    load = float(by_metric("vllm_serve.json", text=text)["ttft_ms"]["load"])
    assert load == pytest.approx(4.0 * (210.5 + 10.5 * 255) / 1000, rel=1e-6)


def test_appended_results_are_rows_of_their_own():
    loads = [cells["load"] for _, cells in read("vllm_appended.json") if cells["metric"] == "ttft_ms"]
    assert loads == ["32", "64"]


def test_latency_and_throughput_of_vllm():
    ((_, latency),) = read("vllm_latency.json", batch=16)
    assert (latency["mode"], latency["load"], latency["value"]) == ("batch", "16", "1250")
    ((_, most),) = read("vllm_throughput.json", output=200)
    assert (most["metric"], most["value"], most["mode"]) == ("total_tok_s", "8260", "max")
    assert (most["prompt_tok"], most["output_tok"]) == ("213", "200")


def test_sglang_says_its_model_and_layout():
    found = by_metric("sglang.jsonl")["tpot_ms"]
    assert (found["arch"], found["tp"], found["engine_version"]) == ("Qwen/Qwen3-8B", "2", "0.5.3")
    assert (found["load"], found["value"]) == ("16", "11.2")
    rated = by_metric("sglang.jsonl", text=json.dumps(SGLANG | {"request_rate": 4.0}))["tpot_ms"]
    assert rated["load"] == "15.7"


def test_aiperf_names_model_concurrency_and_gpus():
    found = by_metric("profile_export_aiperf.json")
    assert set(found) == {"ttft_ms", "tpot_ms", "output_tok_s_total", "latency_ms"}
    one = found["output_tok_s_total"]
    assert (one["arch"], one["load"], one["chip"], one["n_chips"]) == (
        "Qwen/Qwen3-8B", "16", "NVIDIA H100 80GB HBM3", "1",
    )  # fmt: skip
    phases = {"phases": [{"name": "warmup", "concurrency": 4}, {"name": "profiling", "concurrency": 32}]}
    warm = json.dumps(AIPERF | {"input_config": phases})
    assert by_metric("profile_export_aiperf.json", text=warm)["ttft_ms"]["load"] == "32"
    in_s = json.dumps(AIPERF | {"time_to_first_token": {"unit": "sec", "avg": 0.15}})
    assert by_metric("profile_export_aiperf.json", text=in_s)["ttft_ms"]["value"] == "150"


def test_the_csv_of_genai_perf_has_thousands_and_two_tables():
    found = by_metric("profile_export_genai_perf.csv")
    assert found["latency_ms"]["value"] == "37719.87"
    assert found["output_tok_s_total"]["value"] == "91.19"
    assert found["ttft_ms"]["output_tok"] == "460.2"
    assert float(found["ttft_ms"]["load"]) == pytest.approx(0.2 * (150 + 81.5 * 459.2) / 1000, rel=1e-6)


def test_guidellm_is_a_row_a_rate():
    found = by_metric("benchmarks.json")
    assert found["tpot_ms"]["value"] == "8.1"
    assert found["latency_ms"]["value"] == "2200"
    assert found["tpot_ms"]["load"] == "8"
    assert found["tpot_ms"]["arch"] == "meta-llama/Llama-3.1-8B-Instruct"


@pytest.mark.parametrize("name", ["llama.json", "llama.jsonl", "llama.csv", "llama.sql"])
def test_llama_bench_in_all_its_forms_says_the_same(name):
    found = by_metric(name)
    prefill, decode = found["prefill_tok_s"], found["decode_tok_s_per_user"]
    assert (float(prefill["value"]), float(decode["value"])) == pytest.approx((7100.002165, 118.881588))
    assert (prefill["weights"], prefill["kv"]) == ("gguf:Q4_K_M", "f16")
    assert (prefill["chip"], prefill["n_chips"]) == ("NVIDIA GeForce RTX 4080", "1")
    assert (prefill["backend"], prefill["fa"], decode["context_depth"]) == ("CUDA", "1", "4096")
    assert prefill["arch"] == "Qwen2.5-7B-Instruct-Q4_K_M"
    assert "offload" not in prefill


def test_the_table_of_llama_bench_names_its_card_before_it():
    found = by_metric("llama.md")
    assert found["prefill_tok_s"]["chip"] == "NVIDIA GeForce RTX 4090"
    assert found["prefill_tok_s"]["value"] == "12000.5"
    decode = found["decode_tok_s_per_user"]
    assert (decode["output_tok"], decode["context_depth"], decode["value"]) == ("128", "4096", "128.6")
    assert (decode["arch"], decode["weights"]) == ("llama 8B", "gguf:Q4_K_M")


@pytest.mark.parametrize(
    ("told", "weights"),
    [
        ("llama 7B mostly Q4_0", "gguf:Q4_0"),
        ("qwen3moe 30B.A3B Q6_K", "gguf:Q6_K"),
        ("qwen2 7B Q3_K - Large", "gguf:Q3_K_L"),
        ("llama 8B Q2_K - Medium", "gguf:Q2_K"),
        ("llama 8B IQ4_XS - 4.25 bpw", "gguf:IQ4_XS"),
        ("gpt-oss 20B MXFP4 MoE", "gguf:MXFP4"),
        ("gemma3 4B BF16", "gguf:BF16"),
        ("llama 8B all F32", "gguf:F32"),
    ],
)
def test_types_of_llama_bench(told, weights):
    one = {name: value for name, value in LLAMA_BENCH.items() if name != "model_filename"}
    text = json.dumps([one | {"model_type": told}])
    ((_, cells),) = read("llama.json", text=text)
    assert cells["weights"] == weights


def test_layers_in_main_memory_bring_the_processor():
    ((_, cells),) = read("llama.json", text=json.dumps([LLAMA_BENCH | {"n_gpu_layers": 20}]))
    assert cells["offload"] == "-ngl 20 -ub 512"
    assert cells["cpu"] == "AMD Ryzen 7 7800X3D 8-Core Processor"
    ((_, alone),) = read("llama.json", text=json.dumps([LLAMA_BENCH | {"backends": "CPU", "gpu_info": ""}]))
    assert "chip" not in alone
    assert alone["cpu"] == "AMD Ryzen 7 7800X3D 8-Core Processor"


def test_mlperf_by_littles_law():
    found = by_metric("mlperf_log_summary.txt")
    assert found["output_tok_s_total"]["value"] == "23900.1"
    assert float(found["ttft_ms"]["value"]) == 600
    assert float(found["ttft_ms"]["load"]) == pytest.approx(84.2 * 12.5)
    assert float(found["tpot_ms"]["output_tok"]) == pytest.approx(23900.1 / 84.2)


def test_the_folder_of_a_submission_names_its_model(tmp_path):
    place = tmp_path / "H200x8" / "llama2-70b-99.9" / "Server" / "performance" / "run_1"
    place.mkdir(parents=True)
    (place / "mlperf_log_summary.txt").write_text(FILES["mlperf_log_summary.txt"], encoding="utf-8")
    found = validate(str(tmp_path), setup=RunSetup(values={"on": "8x h200", "weights": ("fp8",)}))
    assert {row.model for row in found.rows} == {"meta-llama/Llama-2-70b-hf"}
    assert all(one.predicted for row in found.rows for one in row.predictions)


@pytest.mark.parametrize("name", ["trainer_state.json", "trainer.log"])
def test_a_trainer_counts_samples(name):
    ((kind, cells),) = read(name, seq=2048, on="2x a100")
    assert kind == "training"
    assert float(cells["tok_per_s_per_chip"]) == 4.0 * 2048 / 2
    assert cells.get("micro_batch", "4") == "4"


def test_a_trainer_that_counted_tokens_needs_no_length():
    state = TRAINER_STATE | {"num_input_tokens_seen": 3_000_000}
    ((_, cells),) = read("trainer_state.json", text=json.dumps(state))
    assert cells["tok_per_s_per_chip"] == "3000"


def test_an_adapter_beside_a_checkpoint_says_its_base_and_rank(tmp_path):
    adapter = {"base_model_name_or_path": "Qwen/Qwen3-8B", "r": 32, "target_modules": ["q_proj", "v_proj"]}
    (tmp_path / "adapter_config.json").write_text(json.dumps(adapter), encoding="utf-8")
    (tmp_path / "trainer_state.json").write_text(FILES["trainer_state.json"], encoding="utf-8")
    state = str(tmp_path / "trainer_state.json")
    (row,) = validate(state, setup=RunSetup(values={"on": "a100", "seq": 2048})).rows
    speed = row.predictions[0]
    assert row.model == "Qwen/Qwen3-8B"
    assert speed.measured == pytest.approx(4.0 * 2048)
    assert speed.predicted
    said = {"on": "a100", "seq": 2048, "rank": 32}
    assert validate(state, setup=RunSetup(values=said)).rows[0].predictions[0] == speed, "targets are kept"


def test_torchtune_is_its_median_step_without_the_first():
    ((_, cells),) = read("torchtune.txt")
    assert (cells["tok_per_s_per_chip"], cells["peak_gib"], cells["peak_kind"]) == (
        "4150.5", "20.5", "allocated",
    )  # fmt: skip


def test_the_start_of_vllm_by_the_rank_that_counts():
    rows = {cells["what"]: cells for _, cells in read("vllm.log")}
    figures = {what: cells["value_gib"] for what, cells in rows.items()}
    assert figures == {
        "weights_per_gpu": "13.75",
        "kv_cache_available_per_gpu": "58.1",
        "cuda_graph_per_gpu": "0.6",
        "kv_tokens": "761504",
    }
    one = rows["kv_tokens"]
    assert (one["engine_version"], one["arch"], one["tp"], one["format"]) == (
        "0.11.0", "Qwen/Qwen3-14B", "2", "bf16",
    )  # fmt: skip
    assert (one["gpu_memory_utilization"], one["max_num_seqs"], one["max_num_batched_tokens"]) == (
        "0.95", "256", "8192",
    )  # fmt: skip


def test_an_older_start_of_vllm_counts_blocks():
    figures = {cells["what"]: cells["value_gib"] for _, cells in read("vllm_old.log")}
    assert figures == {
        "weights_per_gpu": "14.99",
        "activation_peak_per_gpu": "1.19",
        "non_torch_per_gpu": "0.12",
        "kv_cache_available_per_gpu": "54.93",
        "kv_tokens": str(28123 * 16),
    }


def test_the_start_of_sglang():
    rows = {cells["what"]: cells for _, cells in read("sglang.log")}
    figures = {what: float(cells["value_gib"]) for what, cells in rows.items()}
    assert figures == pytest.approx(
        {
            "weights_per_gpu": 15.35,
            "kv_cache_available_per_gpu": 52.4,
            "kv_tokens": 381410,
            "cuda_graph_per_gpu": 0.51,
        }
    )
    assert rows["kv_tokens"]["gpu_memory_utilization"] == "0.88"


def test_everything_in_a_folder_is_predicted(files):
    setup = RunSetup(values={"on": "h100", "model": "meta-llama/Llama-3.1-8B", "seq": 2048, "tp": 1})
    found = validate(str(files), setup=setup)
    unread = [
        (row.id, one.metric, str(one.why))
        for row in found.rows
        for one in row.predictions
        if one.predicted is None
    ]
    assert unread == []
    sources = {row.source.partition(":")[0] for row in found.rows}
    assert sources == {*NAMES.values(), ""} - {"own table"}, "a table by hand has no source"
    assert set(found.kind.split(", ")) == {"inference", "training", "memory"}


def test_a_run_that_wrote_json_and_csv_counts_once(tmp_path):
    (tmp_path / "profile_export.json").write_text(FILES["profile_export_aiperf.json"], encoding="utf-8")
    (tmp_path / "profile_export.csv").write_text(FILES["profile_export_genai_perf.csv"], encoding="utf-8")
    assert len(validate(str(tmp_path)).rows) == 4


def test_several_files_are_one_validation(files):
    named = [str(files / "vllm_serve.json"), str(files / "llama.md")]
    assert len(validate(named, setup=RunSetup(values={"on": "rtx 4090"})).rows) == 5


def test_what_is_said_goes_before_what_the_file_says(files, capsys):
    words = ["--on", "a100", "--model", "Qwen/Qwen3-8B", "--weights", "fp8", "--tp", "1"]
    assert main(["validate", str(files / "vllm_serve.json"), *words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all("weights" not in (one["why"] or "") for row in rows for one in row["predictions"])
    assert all(one["answered"] for row in rows for one in row["predictions"])


def test_weights_that_nobody_names_are_those_of_the_models_files(files):
    (first, *_) = validate(str(files / "vllm_serve.json"), setup=RunSetup(values={"on": "h100"})).rows
    (said, *_) = validate(
        str(files / "vllm_serve.json"), setup=RunSetup(values={"on": "h100", "weights": ("bf16",)})
    ).rows
    assert first.predictions[0].predicted == said.predictions[0].predicted


def test_a_plan_says_the_rest(files, capsys):
    assert main(["plan", "meta-llama/Llama-3.1-8B", "--on", "2x h100", "--json"]) == 0
    (files / "plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    said = setup_of("validate", {"plan": str(files / "plan.json")})
    assert said.values["on"] == "2x h100-sxm5-80gb"
    found = validate(str(files / "vllm_latency.json"), setup=said)
    assert found.rows[0].chip == "h100-sxm5-80gb"
    assert found.rows[0].predictions[0].predicted


def test_output_that_powershell_wrote_is_read(tmp_path):
    (tmp_path / "run.md").write_text(FILES["llama.md"], encoding="utf-16")
    assert len(validate(str(tmp_path / "run.md")).rows) == 2


def test_a_file_that_was_cut_short_says_so(tmp_path):
    for name in (one for one in FILES if one.endswith(".json") and "app" not in one):
        path = tmp_path / name
        path.write_text(FILES[name][: len(FILES[name]) // 2], encoding="utf-8")
        with pytest.raises(DataError, match=rf"{name} .*JSON") as caught:
            validate(str(path))
        assert caught.value.hint, name


def test_a_line_that_was_cut_short_is_named(tmp_path):
    (tmp_path / "runs.jsonl").write_text(FILES["llama.jsonl"][:-40], encoding="utf-8")
    with pytest.raises(DataError, match=r"runs\.jsonl, .*2: .*JSON"):
        validate(str(tmp_path / "runs.jsonl"))


def test_what_no_reader_knows_names_those_there_are(tmp_path):
    (tmp_path / "odd.json").write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(DataError) as caught:
        validate(str(tmp_path / "odd.json"))
    assert "llama-bench" in str(caught.value.hint)
    with pytest.raises(MissingError, match=re.escape(str(tmp_path))):
        validate(str(tmp_path))


def test_a_run_without_a_figure_is_an_error(tmp_path):
    empty = {name: value for name, value in VLLM_SERVE.items() if "ms" not in name} | {"output_throughput": 0}
    (tmp_path / "zero.json").write_text(json.dumps(empty), encoding="utf-8")
    with pytest.raises(DataError, match=r"zero\.json: .*vllm bench"):
        validate(str(tmp_path / "zero.json"), setup=NOTHING_SAID)


def test_a_start_up_log_moves_memory_and_no_speed(files, capsys):
    words = ["--from", str(files / "vllm.log"), "--on", "h100", "--out", str(files / "a.toml"), "--json"]
    assert main(["calibrate", *words]) == 0
    made = json.loads(capsys.readouterr().out)["anchors"]
    assert {one["subject"] for one in made} == {"memory_serving"}


def test_one_command_anchors_to_a_benchmark(files, capsys):
    """The file of the benchmark, the machine, and nothing else."""
    out = files / "a.toml"
    words = ["--from", str(files / "vllm_serve.json"), "--on", "h100", "--out", str(out), "--json"]
    assert main(["calibrate", *words]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == 3
    before = validate(str(files / "vllm_serve.json"), setup=RunSetup(values={"on": "h100"})).rows
    with use(str(out)):
        after = validate(str(files / "vllm_serve.json"), setup=RunSetup(values={"on": "h100"})).rows
    for old, new in zip(before, after, strict=True):
        (left,), (right,) = old.predictions, new.predictions
        low, high = sorted((left.predicted, left.measured))
        assert low * 0.999 <= right.predicted <= high * 1.001
        assert abs(right.error) < abs(left.error)
