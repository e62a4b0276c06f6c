"""An engineer with files of their own: a config nobody knows, a spoiled one, a GGUF, a folder, a shape."""

from __future__ import annotations

import json

import pytest

from made_files import llama_gguf, write_gguf, write_safetensors
from rigright.base.units import MIB

OWN = {
    "model_type": "quokka9",
    "architectures": ["Quokka9ForCausalLM"],
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
    "torch_dtype": "float16",
}
LAYER = 512 * (512 + 2 * 128 + 512) + 3 * 512 * 1024 + 2 * 512
PARAMS = 2 * 1000 * 512 + 4 * LAYER + 512


@pytest.fixture
def folder(tmp_path):
    """A folder as a training run leaves it."""
    home = tmp_path / "quokka"
    home.mkdir()
    (home / "config.json").write_text(json.dumps(OWN), encoding="utf-8")
    return home


def spoiled(folder, **changes):
    (folder / "config.json").write_text(json.dumps({**OWN, **changes}), encoding="utf-8")
    return folder / "config.json"


def test_a_family_nobody_knows_is_counted_and_what_was_assumed_is_said(ask, folder):
    for path in (folder, folder / "config.json"):
        (told,) = ask("look-up model '{path}' --json", path=path).data
        assert told["params"] == PARAMS
        assert told["kv_bytes_per_token"] == 4 * 2 * 2 * 64 * 2
        assert told["dtype"] == "fp16"
        assert any("quokka9" in warning for warning in told["warnings"])
    assert ask("look-up model '{path}' --lang zh", path=folder).out.count("quokka9") == 1


def test_it_can_be_served_and_its_context_is_its_own(ask, folder):
    data = ask("explain '{path}' --on t4 --json", path=folder).data
    assert data["fits"]
    assert data["params"] == PARAMS
    assert data["context_tok"] == 2048  # no more than it was made for
    assert any("quokka9" in note for note in data["notes"])
    asked = ask("explain '{path}' --on t4 --context 4096 --json", path=folder).data
    assert any("2,048" in note for note in asked["notes"])


SPOILED = [
    ({"num_attention_heads": 7}, "7"),
    ({"num_key_value_heads": 3}, "3"),
    ({"hidden_size": None}, "hidden_size"),
    ({"hidden_size": -512}, "-512"),
    ({"hidden_size": 1e300}, "hidden_size"),
    ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
    ({"vocab_size": "a thousand"}, "a thousand"),
    ({"num_hidden_layers": [4]}, "num_hidden_layers"),
]


def test_a_spoiled_config_is_one_sentence_that_names_what_is_wrong(ask, folder):
    for changes, told in SPOILED:
        said = ask("explain '{path}' --on t4", path=spoiled(folder, **changes))
        assert said.code > 0, changes
        assert said.is_error, changes
        assert said.err.count("\n") == 1, changes
        assert told in said.err, changes


def test_a_file_that_is_no_config_is_one_sentence(ask, folder):
    for content in (b"", b"[]", b'{"a":', b"\xff\xfe\x00", b"[" * 100_000, b"null", b"3"):
        (folder / "config.json").write_bytes(content)
        said = ask("explain '{path}' --on t4", path=folder / "config.json")
        assert said.code > 0, content[:9]
        assert said.err.count("\n") == 1, content[:9]
        assert "config.json" in said.err, content[:9]
        listed = ask("look-up model '{path}' --json", path=folder / "config.json")
        assert listed.code > 0, content[:9]
        assert "config.json" in listed.data[0]["error"], content[:9]
        assert listed.data[0]["params"] is None, content[:9]


def test_one_wrong_file_among_good_ones_does_not_spoil_the_others(ask, folder):
    said = ask("look-up model '{path}' qwen2.5-7b /no/such/model --json", path=folder)
    assert said.code > 0
    assert [one["params"] for one in said.data] == [PARAMS, 7_615_616_512, None]
    assert [one.get("error") is not None for one in said.data] == [False, False, True]


def test_a_gguf_weighs_what_its_tensors_weigh(ask, tmp_path):
    metadata, tensors = llama_gguf((2, 256, 4, 2, 512, 300, 64), kind="Q8_0")
    path = write_gguf(tmp_path / "small-q8_0.gguf", metadata, tensors)
    (told,) = ask("look-up model '{path}' --json", path=path).data
    matrices = 2 * 300 * 256 + 2 * (256 * (256 + 2 * 128 + 256) + 3 * 256 * 512)
    norms = 256 * (1 + 2 * 2)
    assert told["params"] == matrices + norms
    assert told["kv_bytes_per_token"] == 2 * 2 * 2 * 64 * 2
    data = ask("explain '{path}' --on 'rtx 3060 12gb' --json", path=path).data
    assert data["engine"] == "llama.cpp"
    assert data["weights"] == "gguf:Q8_0"
    held = matrices * 34 / 32 + norms * 4
    table = 300 * 256 * 34 / 32  # llama.cpp keeps the token table on the host
    assert data["cards"][0]["parts_bytes"]["weights"] in {round(held), round(held - table)}


def test_a_gguf_that_lies_costs_no_memory_and_no_traceback(ask, tmp_path):
    metadata, tensors = llama_gguf((2, 256, 4, 2, 512, 300, 64))
    path = write_gguf(tmp_path / "cut.gguf", metadata, tensors)
    whole = path.read_bytes()
    for size in (3, 4, 20, 100, 1000):
        path.write_bytes(whole[:size])
        said = ask("explain '{path}' --on t4", path=path)
        assert said.code > 0
        assert said.err.count("\n") == 1
    path.write_bytes(whole[:8] + b"\xff" * 8 + whole[16:])  # says it holds 2**64 - 1 tensors
    said = ask("explain '{path}' --on t4", path=path)
    assert said.code > 0
    assert len(said.err) < 1000


def test_weight_files_beside_the_config_are_held_against_it(ask, folder):
    write_safetensors(folder / "model.safetensors", {"model.embed_tokens.weight": ("F16", (1000, 512))})
    (told,) = ask("look-up model '{path}' --json", path=folder).data
    assert told["params"] == PARAMS
    assert any("model.safetensors" in warning or "512,000" in warning for warning in told["warnings"])


def test_sizes_alone_are_enough(ask):
    (told,) = ask(
        "look-up model --shape 'layers=4,hidden=512,heads=8,kv_heads=2,ffn=1024,vocab=1000' --json"
    ).data
    assert told["params"] == PARAMS


def test_a_model_of_a_few_megabytes_leaves_the_card_to_the_cache(ask, folder):
    card = ask("explain '{path}' --on t4 --engine vllm --json", path=folder).data["cards"][0]
    assert card["parts_bytes"]["weights"] == 2 * PARAMS
    assert card["pool_bytes"] > 12_000 * MIB
