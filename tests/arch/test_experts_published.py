"""Published totals that differ from the parameters: explained to the last one."""

from __future__ import annotations

import csv
import json

import pytest

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Arch

# layers with experts bear one score shift an expert, which files list and nobody counts
SHIFTED = ("deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-4.5", "zai-org/GLM-4.7", "zai-org/GLM-5.2")
EXACT = ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "Qwen/Qwen3.5-397B-A17B")
HASHED = ("deepseek-ai/DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Pro")


@pytest.fixture(scope="module")
def published(shared):
    with (shared / "models" / "params.csv").open(encoding="utf-8") as file:
        return {row["model"]: int(row["published_total"] or 0) for row in csv.DictReader(file)}


def read(shared, model: str) -> Arch:
    path = shared / "models" / "configs" / f"{model.replace('/', '__')}.json"
    return read_config(json.loads(path.read_text(encoding="utf-8")), model)


def spare_params(arch: Arch) -> int:
    return sum(count.elems(weight) * weight.copies * times for weight, times in count.weights(arch.spare))


def experts(arch: Arch) -> tuple[int, int]:
    routed = [layer.ffn.experts for layer in arch.trunk.layers if layer.ffn and layer.ffn.experts]
    ahead = [layer for tower in arch.spare for layer in tower.layers if layer.ffn and layer.ffn.experts]
    return routed[-1], len(routed) + len(ahead)


@pytest.mark.parametrize("model", EXACT)
def test_parameters_and_prediction_layers_make_the_total(shared, published, model):
    arch = read(shared, model)
    assert count.params(arch) + spare_params(arch) == published[model]


@pytest.mark.parametrize("model", SHIFTED)
def test_what_is_left_are_the_shifts_of_the_scores(shared, published, model):
    arch = read(shared, model)
    each, layers = experts(arch)
    assert published[model] - count.params(arch) - spare_params(arch) == each * layers


@pytest.mark.parametrize("model", HASHED)
def test_hashed_layers_hold_a_table_of_experts_instead(shared, published, model):
    arch = read(shared, model)
    each, layers = experts(arch)
    per_tok = arch.trunk.layers[0].ffn.per_tok
    hashed = 3  # layers that choose by the token's id alone
    table = arch.vocab * per_tok * hashed
    left = published[model] - count.params(arch) - spare_params(arch)
    assert left == table + each * (layers - hashed)


def test_prediction_layers_do_not_count(shared):
    arch = read(shared, "deepseek-ai/DeepSeek-V3.2")
    assert count.params(arch) == 671_877_929_216
    assert spare_params(arch) > 10**10


def test_a_class_default_makes_no_prediction_layer():
    said = {"model_type": "deepseek_v3", "num_hidden_layers": 4}
    assert read_config(said, "silent").spare == ()
    assert len(read_config({**said, "num_nextn_predict_layers": 2}, "told").spare[0].layers) == 2
