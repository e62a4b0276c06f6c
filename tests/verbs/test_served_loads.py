"""Loads that a benchmark is known by: lengths, limits, rates, pictures, and what follows from them."""

import pytest

from rigright.arch.sources.open import open_model
from rigright.verbs.validate.foreign import filled
from rigright.verbs.validate.kinds.inference import KIND
from rigright.verbs.validate.served_asks import is_loaded, load_of, read_served

MLPERF = {
    "id": "m1", "source": "somebody", "engine": "trtllm", "arch": "meta-llama/Llama-2-70b-hf",
    "chip": "h200-sxm-141gb", "n_chips": 8, "weights": "fp8", "mode": "serve", "scenario": "Server",
    "metric": "tpot_ms", "value": 100.0,
}  # fmt: skip
BATCH = {
    "id": "e1", "source": "somebody", "engine": "vllm", "engine_version": "0.11.1", "tp": 1, "n_chips": 1,
    "arch": "Qwen/Qwen3-8B", "chip": "h100-sxm5-80gb", "weights": "bf16", "mode": "serve", "load": 64.0,
    "task": "lm-arena-chat", "output_tok": 640.0, "metric": "tpot_ms", "value": 10.0,
}  # fmt: skip


def predicted(row):
    (found,) = KIND.predict(row)
    return found


def entered(row, **changes):
    """A row as it comes in, where words of its note become columns."""
    row = row | changes
    return filled("inference", row, raw={"note": row.get("note") or ""})


def figure(row, **changes):
    return predicted(entered(row, **changes)).predicted


def sent(row, **changes):
    row = entered(row, **changes)
    return load_of(row, open_model(row["arch"]))


def test_a_benchmark_is_known_by_its_lengths_and_limits():
    found = sent(MLPERF)
    assert (found.prompt_tok, found.output_tok) == (294, 294)
    assert (found.ttft_p99_s, found.tpot_p99_s, found.manner) == (2, 0.2, "mlperf")
    assert sent(MLPERF, scenario="Offline").tpot_p99_s is None
    assert sent(MLPERF, scenario=None, note="MLPerf v4.1 closed Offline").manner == "mlperf"
    assert sent(BATCH).manner == ""


def test_what_a_row_says_itself_goes_first():
    found = sent(MLPERF, prompt_tok=1000.0, output_tok=12.5)
    assert (found.prompt_tok, found.output_tok) == (1000, 12.5)
    note = "ShareGPT 1000 prompts @ 16 req/s; mean in 215 out 121"
    found = sent(BATCH, task=None, output_tok=None, note=note)
    assert (found.prompt_tok, found.output_tok) == (215, 121)
    assert (found.rate_per_s, found.requests) == (16, 1000)
    assert sent(BATCH, task=None, output_tok=None, note="ShareGPT 3000 prompts").rate_per_s is None


@pytest.mark.parametrize(
    ("note", "row", "median"),
    [
        ("value is the MEDIAN inter-token latency", {}, True),
        ("p50 inter-token latency", {}, True),
        ("mean over requests", {}, False),
        ("", {"itl_p50_ms": 9.0}, True),
    ],
)
def test_the_middle_pass_is_told_from_the_mean(note, row, median):
    assert sent(BATCH, note=note, **row).median is median


def test_the_middle_pass_is_shorter_than_the_mean_where_prompts_come_between():
    mean, middle = figure(BATCH), figure(BATCH, itl_p50_ms=9.0)
    assert 0.7 * mean < middle < mean
    alone = {"load": 1.0}
    assert figure(BATCH, itl_p50_ms=9.0, **alone) == pytest.approx(figure(BATCH, **alone))


def test_pictures_cost_what_they_add_and_their_tower():
    row = BATCH | {"arch": "Qwen/Qwen3-VL-8B-Instruct", "metric": "output_tok_s_total"}
    seen = read_served(row | {"task": "image-chat"})
    assert seen.traffic.prompt_tok > 1000
    blind = figure(row, task=None, prompt_tok=seen.traffic.prompt_tok)
    assert 0.6 * blind < figure(row, task="image-chat") < blind


def test_a_server_with_limits_keeps_them_and_serves_less_the_tighter_they_are():
    tpot = {one: figure(MLPERF, scenario=one) for one in ("Server", "Interactive")}
    assert tpot["Server"] <= 200
    assert tpot["Interactive"] <= 40
    speed = [figure(MLPERF, scenario=one, metric="output_tok_s_total") for one in tpot]
    speed.append(figure(MLPERF, scenario="Offline", mode="max", metric="output_tok_s_total"))
    assert speed[1] < speed[0] < 1.1 * speed[2]
    assert figure(MLPERF, metric="ttft_ms") < 2000


def test_a_valid_run_keeps_its_rate_and_a_low_one_is_answered_sooner():
    rated = {"scheduled_samples_per_s": 20.0}
    assert figure(MLPERF, metric="output_tok_s_total", **rated) == pytest.approx(20 * 294)
    assert figure(MLPERF, **rated) < 0.7 * figure(MLPERF)


def test_a_queue_that_grows_until_the_last_request_is_no_endless_one():
    row = BATCH | {"task": None, "load": None, "output_tok": None, "metric": "ttft_ms", "tp": 1}
    few, many = (
        figure(row, note=f"ShareGPT {count} prompts @ 1000 req/s; mean in 215 out 121")
        for count in (2000, 20000)
    )
    assert 5 * few < many < 50 * few
    note = "ShareGPT 20000 prompts @ {} req/s; mean in 215 out 121"
    flows = [figure(row, metric="output_tok_s_total", note=note.format(rate)) for rate in (2, 500, 1000)]
    assert flows[0] == pytest.approx(2 * 121, rel=0.01)
    assert flows[1] == pytest.approx(flows[2], rel=0.01)


def test_settings_that_a_row_tells_are_taken():
    full = {"load": 4096.0, "metric": "output_tok_s_total"}
    assert figure(BATCH, max_num_seqs=16.0, **full) < 0.5 * figure(BATCH, max_num_seqs=128.0, **full)
    tight = {"prompt_tok": 8000.0, "output_tok": 2000.0, **full}
    assert figure(BATCH, gpu_memory_utilization=0.5, **tight) < figure(BATCH, **tight)


def test_a_length_that_nobody_says_widens_the_band_and_one_estimated_does_too():
    row = BATCH | {"metric": "output_tok_s_total"}

    def width(**changes):
        found = predicted(row | changes)
        return found.high / found.low

    said = width(prompt_tok=550.0)
    estimated = width()
    unsaid = width(task=None)
    assert said < estimated < unsaid


def test_a_rate_in_a_note_is_a_load_where_no_mode_is_told():
    note = "ShareGPT 1000 prompts @ 16 req/s; mean in 215 out 121"
    assert is_loaded(entered(BATCH, mode=None, note=note))
    assert not is_loaded(entered(BATCH, mode="batch", note=note))
    assert not is_loaded(BATCH | {"mode": None})


def test_older_versions_go_by_terms_of_their_own():
    """Of vLLM before 0.14 the host waits for each pass."""
    old, new = (figure(BATCH, engine_version=version, load=256.0) for version in ("0.11.1", "0.19.0"))
    assert old > 1.02 * new
    assert (
        read_served(BATCH | {"engine_version": None, "measured": "2025-11-02"}).case.engine.version == "0.11"
    )
    assert read_served(BATCH | {"engine_version": "2024-11 (0.6.x)"}).case.engine.version == "0.6"


def test_a_tuned_run_in_32_bit_is_a_slip_of_the_table():
    ask = read_served(MLPERF | {"weights": "fp32", "chip": "gb200"})
    assert ask.case.serving.weights == "nvfp4"
    assert read_served(MLPERF | {"weights": "fp32"}).case.serving.weights == "fp8"
    assert read_served(MLPERF | {"weights": "fp32", "scenario": None}).case.serving.weights == "fp32"
