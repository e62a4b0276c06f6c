"""Rows of memory.csv: what notes say, and how near predictions come."""

import csv

import numpy as np
import pytest

from rigright.base.errors import RigError
from rigright.base.record import replace
from rigright.facts.engines import engines
from rigright.terms.memory import device_of
from rigright.verbs.validate.foreign import filled, noted_cells
from rigright.verbs.validate.kinds.memory import KIND, memory_figure, read_memory
from sampled_tables import THOROUGH, part, whole_when_thorough

NEWEST = {name: engine.version for name, engine in engines().items()}


def row(**cells):
    known = dict.fromkeys(KIND.columns)
    cells = {"arch": "meta-llama/Llama-3.1-8B", "format": "bf16", "what": "total_gpu_peak", **cells}
    raw = {name: str(cell) for name, cell in cells.items() if cell is not None}
    return filled(KIND.name, {**known, **cells}, raw=raw)


@pytest.mark.parametrize(
    ("form", "note", "source", "found"),
    [
        ("fp16", "TP=2, 79.22GiB GPU, util 0.90", "vllm PR#1 (2024-12-14)", ("vllm", "0.6.1", "fp16", 2)),
        ("bf16", "1x L40S, V1; 158,656 tokens", "vllm PR#2 (2025-04-24)", ("vllm", "0.8", "bf16", 1)),
        ("fp8", "4xH100 TP4 SGLang: 367,404 KV tokens", "vllm issue", ("sglang", NEWEST["sglang"], "fp8", 4)),
        ("gptq4", "transformers 4.38.2, 1 GPU(s) total", "Qwen", ("transformers", "4.38.2", "gptq4", 1)),
        ("int4 (vllm)", "A100 80GB; engine vllm; pool preallocated", "", ("vllm", NEWEST["vllm"], "awq4", 1)),
        ("int8 (llama.cpp)", "A100 80GB", "", ("llama.cpp", "b10300", "gguf:Q8_0", 1)),
        (
            "fp32 (transformers (pytorch))",
            "A100 80GB",
            "",
            ("transformers", NEWEST["transformers"], "fp32", 1),
        ),
    ],
)
def test_notes_are_read_with_care(form, note, source, found):
    told = read_memory(row(format=form, note=note, source=source))
    assert (
        told.case.engine.id,
        told.case.engine.version,
        told.case.serving.weights,
        told.case.layout.tp,
    ) == found


def test_a_note_names_card_size_prompt_and_share():
    told = read_memory(row(note="transformers 4.46.0, 2 GPU(s) total, A100; prompt 6144+2048 gen"))
    assert told.case.layout.pp == 2
    assert (told.case.serving.prompt_tok, told.case.serving.context_tok) == (6144, 8192)
    assert told.chip.id.startswith("a100")
    sized = read_memory(row(note="TP=1, 79.22GiB GPU, util 0.85"))
    assert sized.case.serving.utilisation == 0.85
    assert device_of(sized.case.cards[0], sized.case.engine).total_bytes == pytest.approx(79.22 * 2**30)


def test_dynamic_files_have_a_band_of_their_own():
    named = {name: f"Llama-3.1-8B-{name}Q5_K_M" for name in ("", "UD-")}
    plain, dynamic = (
        memory_figure(row(format="gguf:Q5_K_M", what="weights_file", model=model))[0]
        for model in named.values()
    )
    assert dynamic.value_bytes == plain.value_bytes
    assert dynamic.high_bytes >= 1.08 * dynamic.value_bytes > plain.high_bytes
    assert dynamic.low_bytes < 0.92 * dynamic.value_bytes < plain.low_bytes
    whole = memory_figure(row(format="bf16", what="weights_file", model="Llama-3.1-8B-UD-bf16"))[0]
    assert whole.high_bytes < 1.01 * whole.value_bytes


def test_what_is_not_known_is_said():
    with pytest.raises(RigError, match="favourite"):
        memory_figure(row(what="favourite_colour"))
    with pytest.raises(RigError, match="bf17"):
        memory_figure(row(format="bf17"))
    with pytest.raises(RigError):
        memory_figure(row(arch="no such model"))


FIGURES = (
    "weights_per_gpu activation_peak_per_gpu kv_cache_available_per_gpu non_torch_per_gpu graphs "
    "reserved_peak total_gpu_peak total_gpu_preallocated kv_cache compute_buffer"
)


@pytest.mark.parametrize("what", FIGURES.split())
def test_every_kind_of_figure_has_a_band(what):
    found = memory_figure(row(what=what, note="A100 80GB; engine vllm 0.19", context=8192))[0]
    assert 0 < found.low_bytes <= found.value_bytes <= found.high_bytes


def measured(shared, source, *, every=1):
    with (shared / "measured" / "memory.csv").open(encoding="utf-8") as file:
        raws = [raw for raw in csv.DictReader(file) if raw["source"].startswith(source)]
    for raw in part(raws, every=every):
        cells, _ = noted_cells(KIND.name, raw)
        yield held(cells)


def held(cells):
    """What a row comes to, beside what it measured."""
    (found,) = KIND.predict(cells)
    return replace(found, measured=cells["value_gib"])


@whole_when_thorough
def test_published_peaks_of_transformers(shared):
    found = list(measured(shared, "QwenLM", every=3))
    errors = np.abs([one.predicted / one.measured - 1 for one in found])
    inside = np.mean([one.low <= one.measured <= one.high for one in found])
    assert len(found) == (184 if THOROUGH else pytest.approx(184 / 3, abs=40))
    assert np.median(errors) < 0.01
    assert np.quantile(errors, 0.9) < 0.06
    assert inside > 0.7


def test_published_totals_of_fourteen_engines(shared):
    every = list(measured(shared, "premAI"))
    found = [one for one in every if one.metric == "total_gpu_peak"]
    errors = np.abs([one.predicted / one.measured - 1 for one in found])
    assert np.median(errors) < 0.08
    pools = [one for one in every if one.metric == "total_gpu_preallocated"]
    assert max(abs(one.predicted / one.measured - 1) for one in pools) < 0.08


def test_logged_weights_are_exact(shared):
    for one in measured(shared, "vllm-project/vllm PR"):
        if one.metric == "weights_per_gpu":
            assert one.predicted == pytest.approx(one.measured, rel=0.001)


STARTED = {
    "model": "Qwen/Qwen3-14B",
    "arch": "Qwen/Qwen3-14B",
    "engine": "vllm",
    "engine_version": "0.17.0",
    "chip": "h100-sxm5-80gb",
    "max_model_len": 8192,
    "gpu_memory_utilization": 0.95,
    "total_memory_gib": 79.19,
}


def started(what, **cells):
    found = memory_figure(row(**STARTED | {"what": what} | cells))[0]
    return found.value_bytes / found.unit


def test_columns_of_a_start_are_read():
    told = read_memory(row(**STARTED, tp=2, dp=2, max_num_batched_tokens=4096, max_num_seqs=64,
                          enforce_eager="True", note="A100 80GB; TP4, util 0.5"))  # fmt: skip
    assert (told.case.engine.id, told.case.engine.version, told.assumed) == ("vllm", "0.17.0", ())
    serving = told.case.serving
    assert (told.case.layout.tp, told.case.layout.dp, serving.budget_tok, serving.max_seqs) == (
        2,
        2,
        4096,
        64,
    )
    assert serving.utilisation == 0.95
    assert told.chip.id == "h100-sxm5-80gb"
    assert not serving.graphs
    assert started("activation_peak", max_num_seqs=256) < 0.5 * started("activation_peak")
    assert started("graphs", enforce_eager="True") == 0 < started("graphs")


def test_the_parts_of_a_start_add_up():
    parts = ("weights_per_gpu", "activation_peak_per_gpu", "non_torch_per_gpu")
    total = sum(started(what) for what in parts)
    assert started("total_non_kv_per_gpu") == pytest.approx(total)
    left = 0.95 * 79.19 - total
    assert started("kv_cache_available_per_gpu") == pytest.approx(left, rel=0.001)
    each = 40 * 2 * 8 * 128 * 2  # layers, keys and values, heads, elements, bytes
    assert started("kv_tokens") == pytest.approx(left * 2**30 / each, rel=0.001)


def test_sampling_took_less_from_0_17_on():
    assert started("activation_peak", engine_version="0.16.0") == pytest.approx(5.64, rel=0.02)
    assert started("activation_peak") == pytest.approx(2.23, rel=0.02)


def test_experts_of_mxfp4_are_padded():
    asked = {"arch": "openai/gpt-oss-20b", "format": "mxfp4", "engine_version": "0.19.0"}
    assert started("weights", **asked) == pytest.approx(13.47, rel=0.005)
    assert started("weights", **asked, chip="a100-sxm4-80gb") == pytest.approx(13.72, rel=0.005)


def test_published_starts_of_vllm(shared):
    found = {}
    with (shared / "measured" / "new" / "memory_vllm.csv").open(encoding="utf-8") as file:
        for raw in csv.DictReader(file):
            if raw["arch"]:
                cells, _ = noted_cells(KIND.name, raw)
                one = held(cells)
                found.setdefault(one.metric, []).append(abs(one.predicted / one.measured - 1))
    most = {"weights": 0.004, "activation": 0.03, "non_torch": 0.05, "total_non_kv": 0.005, "kv": 0.01}
    for what, limit in most.items():
        errors = [error for name, own in found.items() if name.startswith(what) for error in own]
        assert len(errors) >= 20
        assert np.median(errors) < limit
    assert np.median(found["cuda_graph_per_gpu"]) < 0.1


def test_torchao_packs_the_head_with_the_layers():
    torchao = {"arch": "meta-llama/Meta-Llama-3-8B", "engine": "torchao", "engine_version": None}
    read = started("weights_read_per_token", format="int8wo", **torchao)
    assert read == pytest.approx(7.004, rel=0.005)  # embedding left out
    whole = started("weights_read_per_token", format="bf16", **torchao)
    assert whole == pytest.approx(13.979, rel=0.001)


def test_a_llama_bench_note_is_read():
    note = "llama.cpp-hip -fa 0 hipblaslt=0 pp512; peak VRAM+GTT MiB /1024"
    told = read_memory(
        row(format="gguf:Q4_0", note=note, source="lhl/strix-halo-testing:llm-bench/x.jsonl@5ee14b")
    )
    assert (told.case.engine.id, told.case.layout.pp, told.case.serving.flash, told.on_device) == (
        "llama.cpp",
        1,
        False,
        True,
    )
    assert told.chip.id.startswith("strix-halo")
    asked = {"arch": "meta-llama/Llama-2-7b-hf", "format": "gguf:Q4_0", "context": 4096, "note": note}
    eager = memory_figure(row(**asked))[0].value_bytes
    flash = memory_figure(row(**asked | {"note": note.replace("-fa 0", "-fa 1")}))[0].value_bytes
    assert 0.1 * 2**30 < eager - flash < 0.5 * 2**30  # scores of 512 x 4096 tokens and 32 heads


def test_an_engine_that_ran_had_room_for_a_cache():
    asked = {
        "arch": "openai/gpt-oss-120b",
        "format": "mxfp4",
        "engine_version": "0.11.0",
        "total_memory_gib": 79.18,
    }
    found, ask = memory_figure(
        row(**STARTED | asked | {"what": "kv_cache_available_per_gpu", "gpu_memory_utilization": 0.9})
    )
    assert found.value_bytes / 2**30 == pytest.approx(3.33, abs=0.3)
    assert any("0.95" in str(note) for note in ask.assumed)
