"""Configs that no model can have: refused with a sentence, and soon."""

from __future__ import annotations

import pytest

from rigright.arch import read
from rigright.arch.config import MAX_LAYERS
from rigright.arch.read import read_config
from rigright.arch.sources import zoo
from rigright.base.errors import DataError


@pytest.mark.parametrize(
    ("model", "change", "said"),
    [
        ("meta-llama/Llama-3.1-8B", {"num_hidden_layers": 0}, "without layers"),
        ("google-t5/t5-small", {"num_decoder_layers": 0}, "without layers"),
        ("google-bert/bert-base-uncased", {"hidden_size": 770}, "12 heads do not divide a width of 770"),
        ("google/vit-base-patch16-224", {"num_attention_heads": 7}, "7 heads do not divide a width of 768"),
        ("openai/whisper-large-v3", {"decoder_attention_heads": 9}, "9 heads do not divide"),
        ("nvidia/Nemotron-H-8B-Base-8K", {"hybrid_override_pattern": "M" * 100_000}, "100000 layers"),
        ("meta-llama/Llama-3.1-8B", {"num_hidden_layers": MAX_LAYERS + 1}, "num_hidden_layers"),
    ],
)
def test_what_no_model_can_be_is_refused(model, change, said):
    with pytest.raises(DataError, match=said):
        read_config({**zoo.config(model), **change}, "made")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "vit", "image_size": [[1]]}, "invalid image or patch size"),
        ({"model_type": "resnet", "depths": [1, 2]}, "hidden_sizes, depths differ in length"),
        ({"model_type": "wav2vec2", "conv_dim": [8]}, "conv_dim, conv_kernel, conv_stride"),
        ({"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": 3}, "cannot be 3"),
        ({"_class_name": "UNet2DConditionModel", "attention_head_dim": [8, "wide"]}, "cannot be 'wide'"),
    ],
)
def test_values_of_the_wrong_kind_are_named(config, said):
    with pytest.raises(DataError, match=said):
        read_config(config, "made")


@pytest.mark.parametrize("bug", [TypeError, AttributeError, ValueError, KeyError])
def test_a_bug_of_ours_is_not_blamed_on_the_file(monkeypatch, bug):
    def broken(*_):
        raise bug("ours")

    monkeypatch.setattr(read, "read_family", broken)
    with pytest.raises(bug, match="ours"):
        read_config(zoo.config("meta-llama/Llama-3.1-8B"), "made")


def test_what_cannot_be_read_says_that_its_type_is_not_known():
    with pytest.raises(DataError, match=r'unknown model type "levit", .* lacks "num_hidden_layers"'):
        read_config({"model_type": "levit", "hidden_sizes": [128, 256, 384]}, "made")
    with pytest.raises(DataError, match='lacks "num_experts_per_tok"'):
        read_config({"model_type": "deepseek_v2"}, "made")
