"""What a config leaves unsaid: absent, null and given are three things."""

import json

import pytest

from rigright.arch.config import Config
from rigright.arch.defaults import full, kind_of_class, known, part
from rigright.arch.read import read_config
from rigright.base.tables import DATA

TABLE = json.loads((DATA / "arch" / "defaults.json").read_text(encoding="utf-8"))
KINDS = {kind: row for kind, row in TABLE.items() if not kind.startswith("_")}


@pytest.mark.parametrize(
    ("given", "size"), [({}, 768), ({"hidden_size": 12}, 12), ({"hidden_size": None}, None)]
)
def test_an_absent_key_takes_the_default_of_its_class_and_a_null_stays(given, size):
    assert full(Config(given, "made"), "bert").maybe("hidden_size") == size


def test_a_key_is_found_under_both_its_names():
    config = full(Config({"hidden_size": 12}, "made"), "t5")
    assert (config.size("d_model"), config.size("hidden_size")) == (12, 12)
    assert full(Config({}, "made"), "t5").size("hidden_size") == 512


def test_an_unknown_kind_changes_nothing():
    assert dict(full(Config({"a": 1}, "made"), "no such kind").raw) == {"a": 1}


def test_a_missing_part_is_made_as_its_class_makes_it():
    eye = part(full(Config({"model_type": "llava"}, "made"), "llava"), "vision_config")
    assert (eye.word("model_type"), eye.size("hidden_size"), eye.size("image_size")) == (
        "clip_vision_model",
        1024,
        336,
    )


def test_a_part_told_in_pieces_takes_the_rest_from_its_own_class():
    config = Config({"model_type": "clip", "vision_config": {"hidden_size": 12}}, "made")
    eye = part(config, "vision_config")
    assert (eye.size("hidden_size"), eye.size("patch_size")) == (12, 32)


def test_a_part_is_of_the_kind_it_names():
    config = Config({"model_type": "llava", "text_config": {"model_type": "qwen2"}}, "made")
    assert part(config, "text_config", kind="llama").word("model_type") == "qwen2"


def test_a_part_named_like_the_whole_is_of_the_kind_the_class_expects():
    config = Config({"model_type": "qwen2_5_vl", "vision_config": {"model_type": "qwen2_5_vl"}}, "made")
    assert part(config, "vision_config").word("model_type") == "qwen2_5_vl_vision"


def test_what_is_known():
    assert known("bert")
    assert not known("no such kind")
    assert kind_of_class("Mistral3ForConditionalGeneration") == "mistral3"


def test_every_row_holds_together():
    for kind, row in KINDS.items():
        assert set(row) <= {"keys", "alias", "parts", "made"}, kind
        assert all(other != own for other, own in row.get("alias", {}).items()), kind
        assert all(isinstance(inner["model_type"], str) for inner in row.get("made", {}).values()), kind
        numbers = [value for value in row.get("keys", {}).values() if isinstance(value, float)]
        assert all(abs(value) < float("inf") for value in numbers), kind


def test_the_table_says_where_it_comes_from():
    assert "transformers" in TABLE["_source"]
    assert "diffusers" in TABLE["_source"]
    assert len(KINDS) > 800


STRANGE = (
    *("funnel", "mobilebert", "led", "seamless_m4t", "seamless_m4t_v2", "levit", "mobilevit", "mobilevitv2"),
    *("kosmos-2", "kosmos-2.5", "florence2", "janus", "granite_speech", "prophetnet", "convbert", "yoso"),
)


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("inside", ["text_config", "language_config", ""])
def test_what_no_family_reads_is_never_read_silently(kind, inside):
    llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    llama |= {"vocab_size": 99, "intermediate_size": 80}
    bert = {**llama, "type_vocab_size": 2, "max_position_embeddings": 64}
    raw = {"model_type": kind, inside: llama} if inside else {**bert, "model_type": kind}
    warnings = " ".join(map(str, read_config(raw, "made").warnings))
    assert f'"{kind}"' in warnings


@pytest.mark.parametrize(
    "name",
    ["BartForConditionalGeneration", "MarianMTModel", "VoxtralForConditionalGeneration", "LlamaForCausalLM"],
)
def test_a_class_written_as_the_model_type_is_read_as_that_class(name):
    typed, listed = ({"model_type": name}, {"architectures": [name]})
    assert read_config(typed, "made").towers[-1] == read_config(listed, "made").towers[-1]
