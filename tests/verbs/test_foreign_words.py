"""Names as others write them are read as the nearest thing we know, and said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import few
from rigright.arch.count import params
from rigright.arch.sources.guess import guess, shaped
from rigright.facts.engines import find_engine
from rigright.facts.find import find_chip
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.facts.nodes import find_node
from rigright.verbs.validate import foreign
from rigright.verbs.validate.door import enter
from rigright.verbs.validate.kinds import hybrid, inference, memory, training, vision

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
        ("PyTorch 2.9.1, ROCm 7", "transformers"),
    ],
)
def test_engines(asked, engine):
    assert find_engine(foreign.engine_of(asked, many=True).cell).id == engine


def test_an_engine_nobody_knows_is_the_common_one_for_the_load():
    many, one = (foreign.engine_of("frobnicator 3", many=many) for many in (True, False))
    assert (many.cell, one.cell) == ("vllm", "llama.cpp")
    assert many.wider > foreign.engine_of("vllm+torchao", many=True).wider > 1
    assert "frobnicator" in str(many.note)


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
        told = {"arch": model, "chip": "h100-sxm5-80gb", "weights": "bf16", "mode": "single"} | said
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
        ("NVIDIA GeForce GTX 1650 Ti", "", "gtx-1650"),
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


@pytest.mark.parametrize("size", [3e7, 5e8, 3e9, 8e9, 32e9, 70e9, 4e11])
def test_a_shape_made_of_a_size_has_that_size(size):
    assert params(shaped(size)) == pytest.approx(size, rel=0.02)


@pytest.mark.parametrize(
    ("asked", "model", "kind"),
    [
        ("Llama2-7B pre-training", "meta-llama/Llama-2-7b-hf", "same_size"),
        ("somebody/Llama-3.1-8B-Fable-Distill-GGUF", "meta-llama/Llama-3.1-8B", "same_size"),
        ("nobody/Thing-30B-A3B-Q4_K_M.gguf", "Qwen/Qwen3-30B-A3B", "other_size"),
    ],
)
def test_models_by_what_their_names_say(asked, model, kind):
    found = guess(asked)
    assert (found.arch.name, found.kind) == (model, kind)


def test_less_that_is_known_is_wider():
    wider = foreign.table()["model"]
    assert 1 < wider["same_size"] < wider["other_size"] < wider["unsized"]
    assert guess("muse-glimmer").kind == guess("DeepSeek (see thread)").kind == "unsized"


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
