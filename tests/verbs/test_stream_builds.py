"""Rows of engines that are built for several backends: what a row says of its build times it."""

from __future__ import annotations

import pytest

from rigright.base.tables import Row
from rigright.verbs.validate.kinds.inference import KIND
from rigright.verbs.validate.stream_asks import read_stream

APU, LLAMA = "strix-halo-8060s", "meta-llama/Llama-2-7b-hf"


def row(**cells: object) -> Row:
    told = {
        "id": "r1", "engine": "llama.cpp", "engine_version": "b9187", "arch": LLAMA, "chip": APU,
        "n_chips": 1, "weights": "gguf:Q4_0", "mode": "single", "load": 1.0, "prompt_tok": 512.0,
        "output_tok": 0.0, "metric": "prefill_tok_s",
    }  # fmt: skip
    return {**told, **cells}


def value(**cells: object) -> float:
    (found,) = KIND.predict(row(**cells))
    return found.predicted or 0.0


@pytest.mark.parametrize(
    ("cells", "backend", "options"),
    [
        ({"backend": "Vulkan", "fa": 1.0}, "vulkan", ("flash",)),
        ({"engine_version": "b9187 vulkan_amdvlk"}, "vulkan", ("amdvlk",)),
        ({"engine_version": "b5863 llama.cpp-hip hipblaslt", "fa": 0.0}, "rocm",
         ("hipblaslt", "no-flash")),
        ({"engine_version": "2024-05 (CUDA 12.1 / Metal)"}, "", ()),
        ({"engine": "llama.cpp vulkan"}, "vulkan", ()),
        ({"engine": "ollama", "backend": "ROCm"}, "rocm", ()),
    ],
)  # fmt: skip
def test_columns_versions_and_names_tell_the_build(
    cells: Row, backend: str, options: tuple[str, ...]
) -> None:
    engine = read_stream(row(**cells)).case.engine
    assert (engine.backend, engine.options) == (backend, options)


def test_a_row_that_does_not_say_its_backend_says_what_was_taken() -> None:
    (found,) = KIND.predict(row())
    assert "backend" in str(found.why)
    assert "rocm" in str(found.why)
    assert found.predicted == pytest.approx(value(backend="ROCm"))


def test_a_run_without_a_version_is_as_old_as_its_date() -> None:
    new, old = (
        value(backend="Vulkan", engine_version=None, measured="2026-02-01"),
        value(backend="Vulkan", engine_version=None, measured="2025-06-01"),
    )
    assert old < 0.7 * new


def test_attention_as_one_kernel_decides_at_depth_and_not_without() -> None:
    build = {"engine_version": "b6077 llama.cpp-hip hipblaslt", "metric": "decode_tok_s_per_user"}
    deep = {**build, "prompt_tok": 0.0, "output_tok": 4096.0}
    assert value(**deep, fa=0.0) < 0.8 * value(**deep, fa=1.0)
    short = {**build, "prompt_tok": 0.0, "output_tok": 32.0}
    assert value(**short, fa=0.0) == pytest.approx(value(**short, fa=1.0), rel=0.05)


def test_depth_and_passes_are_read_from_their_columns() -> None:
    deep = read_stream(row(context_depth=8192.0, ubatch_tok=128.0))
    assert (deep.traffic.cached_tok, deep.case.serving.budget_tok) == (8192.0, 128.0)
    assert value(ubatch_tok=32.0) < value(ubatch_tok=512.0)


def test_a_file_is_as_large_as_the_row_says() -> None:
    token = {"metric": "decode_tok_s_per_user", "prompt_tok": 0.0, "output_tok": 128.0}
    assert value(**token, file_gib=3.56) == pytest.approx(value(**token), rel=0.01)
    assert value(**token, file_gib=5.0) < 0.85 * value(**token)


def test_a_format_nobody_names_is_the_one_people_run() -> None:
    assert read_stream(row(weights=None)).case.serving.weights == "gguf:Q4_K_M"
    assert read_stream(row(weights=None, arch="openai/gpt-oss-20b")).case.serving.weights == "gguf:MXFP4"
    assert read_stream(row(weights=None, engine="mlx", chip="apple-m4-pro")).case.serving.weights == "mlx4"
    assert read_stream(row(weights=None, engine="vllm", chip="rtx-4090")).case.serving.weights == "fp16"


def test_what_a_card_has_no_room_for_runs_beside_main_memory() -> None:
    """A 32B model of 4 bit on a card of 12 GB: a few tokens/s, not the card's 27 and not refused."""
    cells = {"chip": "rtx-5070", "arch": "Qwen/Qwen3-32B", "weights": "gguf:Q4_K_M", "engine": "ollama",
             "metric": "decode_tok_s_per_user", "prompt_tok": None, "output_tok": 200.0}  # fmt: skip
    assert 1.5 < value(**cells) < 8
    assert value(**{**cells, "arch": "Qwen/Qwen3-14B"}) > 40


def test_a_batch_that_the_cache_has_no_room_for_runs_in_turns() -> None:
    cells = {"engine": "vllm", "engine_version": "0.6.3", "chip": "h100-sxm5-80gb", "n_chips": 8, "tp": 8,
             "arch": "meta-llama/Llama-3.1-405B", "weights": "fp8", "mode": "batch", "metric": "latency_ms",
             "prompt_tok": 2048.0, "output_tok": 2048.0}  # fmt: skip
    held, doubled = value(**cells, load=256.0), value(**cells, load=512.0)
    assert doubled == pytest.approx(2 * held, rel=0.01)


def test_replicas_share_a_batch() -> None:
    cells = {"engine": "vllm", "engine_version": "0.6.3", "chip": "h100-sxm5-80gb", "arch": LLAMA, "tp": 1,
             "weights": "fp16", "mode": "batch", "metric": "latency_ms", "output_tok": 128.0}  # fmt: skip
    assert value(**cells, n_chips=2, load=16.0) == pytest.approx(
        value(**cells, n_chips=1, load=8.0), rel=1e-6
    )


def test_what_a_row_leaves_open_widens_its_band_and_moves_no_figure_that_is_usual() -> None:
    def width(**cells: object) -> float:
        (found,) = KIND.predict(row(**cells))
        return (found.high or 0.0) / (found.low or 1.0)

    said = {
        "backend": "ROCm",
        "weights": "gguf:Q4_K_M",
        "metric": "decode_tok_s_per_user",
        "output_tok": 128.0,
    }
    assert width(**{**said, "backend": None}) >= width(**said)
    assert width(**{**said, "weights": None}) > 1.15 * width(**said)
    assert width(**{**said, "prompt_tok": None, "metric": "ttft_ms"}) > 2 * width(
        **{**said, "metric": "ttft_ms"}
    )


def test_a_time_has_the_band_of_the_rate_that_it_is_one_over() -> None:
    cells = {"backend": "ROCm", "output_tok": 128.0}
    for time, rate in (("tpot_ms", "decode_tok_s_per_user"), ("ttft_ms", "prefill_tok_s")):
        (one,), (other,) = KIND.predict(row(**cells, metric=time)), KIND.predict(row(**cells, metric=rate))
        assert (one.high or 0.0) / (one.low or 1.0) == pytest.approx((other.high or 0.0) / (other.low or 1.0))
        assert (one.high or 0.0) / (one.predicted or 1.0) == pytest.approx(
            (other.predicted or 0.0) / (other.low or 1.0)
        )
