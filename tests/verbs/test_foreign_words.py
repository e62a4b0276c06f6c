"""Names as others write them are read as what they mean, and said; what we do not know is not answered."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.arch.sources.find import copied
from rigright.facts.engines import find_engine
from rigright.facts.find import find_chip
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.nodes import find_node
from rigright.verbs.validate import foreign
from rigright.verbs.validate.door import enter
from rigright.verbs.validate.kinds import hybrid, inference, memory, training, vision
from rigright.verbs.validate.verb import validate

KINDS = [one.KIND for one in (hybrid, inference, memory, training, vision)]


@pytest.mark.parametrize(
    ("asked", "engine"),
    [
        ("trtllm", "tensorrt-llm"),
        ("TensorRT-LLM (NIM)", "tensorrt-llm"),
        ("lmdeploy-turbomind", "lmdeploy"),
        ("ollama/llama.cpp", "ollama"),
        ("vLLM 0.6.x", "vllm"),
        ("vllm+torchao", "vllm"),
        ("llamafile", "llama.cpp"),
        ("NxD Inference (vLLM)", "vllm"),
        ("Transformers NeuronX", "vllm"),
        ("PyTorch 2.9.1, ROCm 7", "transformers"),
    ],
)
def test_engines(asked, engine):
    assert find_engine(foreign.engine_of(asked).cell).id == engine


STRANGERS = {  # a column, and a cell that means nothing we know, or another thing than what we know
    "engine": ("frobnicator 3", "OpenVINO", "mindie", "candle"),
    "chip": ("Trainium 9", "frobnicator 3", "GeForce GTX 1650 Super Duo", "MetaX C500"),
    "weights": ("frob4x", "hexa"),
    "model": (
        *("DeepSeek (see thread)", "/workspace/checkpoint-1200", "muse-glimpse", "nobody/Thing-30B-A3B"),
        *("gemma-4-12B", "Mistral-Small-9-191B-2903", "mobilenetv2", "Llama-3.1-8B-Omni", "gpt3_6.7B"),
    ),
}  # fmt: skip
SERVED = {
    "engine": "vllm", "chip": "h100-sxm5-80gb", "n_chips": "8", "weights": "fp8", "model": "Qwen/Qwen3-32B",
    "metric": "tpot_ms", "value": "20", "load": "16", "prompt_tok": "1024", "output_tok": "128",
    "mode": "serve",
}  # fmt: skip


def test_what_nobody_knows_is_one_row_without_an_answer(tmp_path):
    """Its reason names it; rows around it are answered, and it is not as another engine or model."""
    strange = [(column, cell) for column, cells in STRANGERS.items() for cell in cells]
    rows = [SERVED, *(SERVED | {column: cell} for column, cell in strange), SERVED]
    path = tmp_path / "runs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(SERVED))
        table.writeheader()
        table.writerows(rows)
    first, *between, last = (judged.predictions[0] for judged in validate(str(path)).rows)
    assert first.predicted == last.predicted is not None
    assert [cell for (_, cell), one in zip(strange, between, strict=True) if one.predicted is not None] == []
    assert [
        cell
        for (_, cell), one in zip(strange, between, strict=True)
        if cell.lower() not in str(one.why).lower()
    ] == []


@pytest.mark.parametrize(
    ("asked", "model", "vendor", "form"),
    [
        ("fp4", "", "AMD", "mxfp4"),
        ("fp4", "", "NVIDIA", "nvfp4"),
        ("BF16/F8_E4M3", "", "", "fp8"),
        ("exl2:4.65bpw", "", "", "exl2-4.65"),
        ("gguf", "Mistral-7B-UD-Q4_K_XL", "", "gguf:Q4_K_XL"),
        ("gguf:llama 8B Q4_K - Medium", "", "", "gguf:Q4_K_M"),
        ("gguf:gpt-oss ?B F16", "", "", "gguf:F16"),
        ("MXFP8", "", "", "fp8"),
        ("w4a16-g128", "", "", "int4"),
        ("bnb 4bit", "", "", "nf4"),
        ("Q4_K_M (llama.cpp b7000)", "", "", "gguf:Q4_K_M"),
    ],
)
def test_formats(asked, model, vendor, form):
    found = foreign.weights_of(asked, model=model, vendor=vendor)
    assert find_format(found.cell.partition(" (")[0]).id == form


def test_a_word_of_another_engine_is_no_format_of_this_one():
    assert find_format(foreign.weights_of("6bit", engine="mlx").cell).id == "mlx6"


def test_no_accelerator_serves_in_32_bits():
    read = foreign.weights_of("fp32", vendor="NVIDIA", many=True)
    assert read.cell == "fp8"
    assert read.wider > 1
    assert foreign.weights_of("fp32", vendor="NVIDIA").cell == "fp32"


def test_a_model_takes_the_chips_that_hold_it():
    def chips(model, **said):
        told = {
            "arch": model,
            "chip": "h100-sxm5-80gb",
            "weights": "bf16",
            "mode": "single",
            "source": "a",
            "value": 9.0,
        } | said
        row = dict.fromkeys(inference.KIND.columns) | told
        return enter("inference", row, raw={}).row["n_chips"]

    assert chips("meta-llama/Llama-3.1-8B") is None
    assert chips("meta-llama/Llama-3.3-70B-Instruct") == 2
    assert chips("meta-llama/Llama-3.3-70B-Instruct", n_chips=1) == 1


def test_a_mix_is_as_large_as_its_bits_say():
    small, large = (
        foreign.weights_of(f"gguf:mix {bits} bpw", model="", vendor="").cell for bits in (2.5, 6.6)
    )
    assert (small, large) == ("gguf:Q2_K", "gguf:Q6_K")


@pytest.mark.parametrize(("asked", "form"), [("turbo3", "q4_0"), ("fp8_e4m3", "fp8"), ("auto-ish", "16bit")])
def test_caches(asked, form):
    assert find_kv_format(foreign.kv_of(asked).cell).id == form


@pytest.mark.parametrize(
    ("asked", "note", "chip"),
    [
        ("", "card as given: NVIDIA_A100-SXM4-40GB; config: 1x8", "a100-sxm4-40gb"),
        ("", "accelerator: AMD Instinct MI300X 192GB (x8) and AMD Instinct MI325X 256GB (x8)", "mi325x"),
        ("", "GPU as named: RTX 5090 32.6 GB; Run 4", "rtx-5090"),
        ("Intel(R) Arc Pro(R) B60", "", "arc-pro-b60"),
        ("H100-SXM5-80GBx8", "", "h100-sxm5-80gb"),
        ("87xMI355X", "", "mi355x"),
    ],
)  # fmt: skip
def test_chips(asked, note, chip):
    assert find_chip(foreign.chip_of(asked, note, host=False).cell).id == chip


def test_a_row_without_a_card_ran_on_its_processor():
    note = "MLPerf; accelerator: none (CPU: Intel(R) Xeon(R) 6787P); acc target"
    assert find_node(foreign.chip_of("", note, host=True).cell).has_no_cards
    assert foreign.chip_of("", note, host=False).cell == "CPU Intel Xeon 6787P"
    assert foreign.chip_of("", "no words of it", host=True) is None


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ("Llama2-7B pre-training", "meta-llama/Llama-2-7b-hf"),
        ("somebody/Llama-3.1-8B-Fable-Distill-GGUF", "meta-llama/Llama-3.1-8B"),
        ("Qwen3-30B-A3B-Abcd-v2.gguf", "Qwen/Qwen3-30B-A3B"),
        ("/workspace/DeepSeek-R1-0528", "deepseek-ai/DeepSeek-R1-0528"),
    ],
)
def test_a_copy_is_the_model_that_its_name_begins_with(asked, model):
    assert copied(asked).name == model


@pytest.mark.parametrize(
    "asked", ["muse-glimmer", "Llama-3.1-8B-Omni-x", "Qwen3-8B-Foo-Reranker", "8b-foo", ""]
)
def test_a_name_without_a_size_or_of_another_architecture_is_no_copy(asked):
    assert copied(asked) is None


@few
@given(st.sampled_from(KINDS), st.data())
def test_any_row_enters(kind, data):
    words = st.one_of(
        st.none(), st.text(max_size=30),
        st.sampled_from(["gguf:", "exl2:9.9bpw", "a(", "99b", "a3b 7b", "x b", "(cpu: )", "gpu: + and"]),
    )  # fmt: skip
    texts = ("engine", "weights", "format", "kv", "chip", "gpu", "note", "model", "arch", "mode")
    row = dict.fromkeys(kind.columns) | {name: data.draw(words) for name in texts if name in kind.columns}
    entry = enter(kind.name, row, raw={}, faults=())
    assert entry.wider >= 1
    assert set(entry.row) >= set(row)
    assert (entry.wider == 1) or entry.notes
