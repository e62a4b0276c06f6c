"""Encoders, encoder-decoders, vision and diffusion models of the reference tables, to the last parameter."""

import csv
import json

import pytest

from rigright.arch import count
from rigright.arch.read import read_config

FAMILIES = {"encoder", "t5", "whisper", "vision", "diffusion"}
SEEING = (
    "-VL-",
    "llava",
    "Vision",
    "gemma-3-",
    "gemma-4",
    "Qwen3.5",
    "Qwen3.6",
    "Scout",
    "Maverick",
    "Small-3.1",
    "GLM-4.1V",
)
SEEING = (*SEEING, "Small-3.1", "GLM-4.1V", "AutoGLM", "MiniMax-M3", "Step-3.7")


def published(shared):
    with (shared / "models" / "params.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["family"] in FAMILIES or any(word in row["model"] for word in SEEING):
                yield row


def read(shared, model):
    path = shared / "models" / "configs" / (model.replace("/", "__", 1) + ".json")
    return read_config(json.loads(path.read_text(encoding="utf-8")), model)


def test_parameters_to_the_last(shared):
    rows = list(published(shared))
    found = {row["model"]: count.params(read(shared, row["model"])) for row in rows}
    assert len(rows) >= 50
    assert found == {row["model"]: int(row["params"]) for row in rows}


def test_embedding_and_active_parameters(shared):
    for row in published(shared):
        arch = read(shared, row["model"])
        if row["embedding_params"]:
            assert count.embedding_params(arch) == int(row["embedding_params"]), row["model"]
        if row["active_params"]:
            assert count.active_params(arch) == int(row["active_params"]), row["model"]


def test_ties(shared):
    for row in published(shared):
        if row["tied"]:
            assert read(shared, row["model"]).tied == (row["tied"] == "True"), row["model"]


# published totals: Phi-3.5-vision's safetensors; Kimi's language part and eye are known apart
@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("microsoft/Phi-3.5-vision-instruct", 4_146_621_440),
        ("microsoft/resnet-50", 25_557_032),
        ("stable-diffusion-v1-5/stable-diffusion-v1-5#unet", 859_520_964),
        ("openai/whisper-tiny", 37_760_640),
        ("intfloat/e5-base-v2", 109_482_240),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", 10_670_220_835),
    ],
)
def test_models_known_from_elsewhere(shared, model, params):
    assert count.params(read(shared, model)) == params


def test_gemma_3n_without_the_keys_and_values_that_shared_layers_never_use(shared):
    arch = read(shared, "google/gemma-3n-E4B-it")
    stored, unused = 7_849_978_192, 15 * (2 * 512 * 2048 + 256)
    assert count.params(arch) == stored - unused
