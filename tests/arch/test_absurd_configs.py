"""Configs that no model can have: refused with a sentence, and soon."""

from __future__ import annotations

import pytest

from rigright.arch import read
from rigright.arch.config import MAX_LAYERS
from rigright.arch.read import read_config
from rigright.arch.sources import zoo
from rigright.base.errors import DataError
from spoken import values


@pytest.mark.parametrize(
    ("model", "change", "named"),
    [
        ("meta-llama/Llama-3.1-8B", {"num_hidden_layers": 0}, {"name": "made"}),
        ("google-t5/t5-small", {"num_decoder_layers": 0}, {"name": "made"}),
        ("google-bert/bert-base-uncased", {"hidden_size": 770}, {"heads": "12", "hidden": "770"}),
        ("google/vit-base-patch16-224", {"num_attention_heads": 7}, {"heads": "7", "hidden": "768"}),
        ("openai/whisper-large-v3", {"decoder_attention_heads": 9}, {"heads": "9"}),
        ("nvidia/Nemotron-H-8B-Base-8K", {"hybrid_override_pattern": "M" * 100_000}, {"layers": "100000"}),
        ("meta-llama/Llama-3.1-8B", {"num_hidden_layers": MAX_LAYERS + 1}, {"key": "num_hidden_layers"}),
    ],
)
def test_what_no_model_can_be_is_refused(model, change, named):
    with pytest.raises(DataError) as refused:
        read_config({**zoo.config(model), **change}, "made")
    assert values(refused.value.sentence).items() >= named.items()


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"model_type": "vit", "image_size": [[1]]}, {"sides": "([1], [1])"}),
        ({"model_type": "resnet", "depths": [1, 2]}, {"keys": "hidden_sizes, depths"}),
        ({"model_type": "wav2vec2", "conv_dim": [8]}, {"keys": "conv_dim, conv_kernel, conv_stride"}),
        (
            {"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": 3},
            {"key": "pos_att_type", "value": "3"},
        ),
        ({"_class_name": "UNet2DConditionModel", "attention_head_dim": [8, "wide"]}, {"value": "'wide'"}),
    ],
)
def test_values_of_the_wrong_kind_are_named(config, named):
    with pytest.raises(DataError) as refused:
        read_config(config, "made")
    assert values(refused.value.sentence).items() >= named.items()


@pytest.mark.parametrize("bug", [TypeError, AttributeError, ValueError, KeyError])
def test_a_bug_of_ours_is_not_blamed_on_the_file(monkeypatch, bug):
    def broken(*_):
        raise bug("ours")

    monkeypatch.setattr(read, "read_family", broken)
    with pytest.raises(bug, match="ours"):
        read_config(zoo.config("meta-llama/Llama-3.1-8B"), "made")


def test_what_cannot_be_read_says_that_its_type_is_not_known():
    with pytest.raises(DataError, match=r'"levit".*"hidden_size"'):
        read_config({"model_type": "levit", "hidden_sizes": [128, 256, 384]}, "made")
    with pytest.raises(DataError, match='"num_experts_per_tok"'):
        read_config({"model_type": "deepseek_v2"}, "made")
