"""One door for whatever describes a model; whatever is wrong with it is one clear sentence."""

from __future__ import annotations

import contextlib
import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rigright.arch import count
from rigright.arch.sources import zoo
from rigright.arch.sources.files import MAX_CONFIG_BYTES, parse_json, read_json
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, DataError, MissingError, RigError
from spoken import same, values

SMALL = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
}
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and device files are of POSIX systems")


def written(path, config=None):
    path.write_text(json.dumps(SMALL if config is None else config), encoding="utf-8")
    return path


def test_a_config_under_any_name(tmp_path):
    for name in ("config.json", "org__name.json", "my model.json", "noending"):
        assert count.params(open_model(str(written(tmp_path / name)))) == 86_848


def test_a_config_is_named_by_its_file_or_by_its_folder(tmp_path):
    assert open_model(str(written(tmp_path / "org__name.json"))).name == "org/name"
    assert open_model(str(written(tmp_path / "config.json"))).name == tmp_path.name
    assert open_model(str(written(tmp_path / "x.json", {**SMALL, "_model": "a/b"}))).name == "a/b"


def test_a_folder_is_its_config(tmp_path):
    written(tmp_path / "config.json")
    assert open_model(str(tmp_path)).name == tmp_path.name


def test_every_config_given_opens_like_the_zoo(shared):
    for path in sorted((shared / "models" / "configs").glob("Qwen__*.json")):
        arch = open_model(str(path))
        assert arch.towers == zoo.arch(arch.name).towers


def test_a_config_may_have_a_hash_in_its_name(tmp_path, shared):
    assert open_model(str(written(tmp_path / "org__name#unet.json"))).name == "org/name#unet"
    name = "stable-diffusion-v1-5/stable-diffusion-v1-5#vae"
    path = shared / "models" / "configs" / f"{name.replace('/', '__')}.json"
    assert open_model(str(path)).towers == zoo.arch(name).towers


def test_a_home_that_nobody_has_is_no_crash(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    with pytest.raises(MissingError):
        open_model("~no-such-user-here/config.json")


def test_a_name_stands_before_a_folder_without_a_model(tmp_path, monkeypatch):
    (tmp_path / "gpt2").mkdir()
    monkeypatch.chdir(tmp_path)
    assert open_model("gpt2").name == "openai-community/gpt2"
    written(tmp_path / "gpt2" / "config.json")
    assert open_model("gpt2").name == "gpt2"


def test_a_byte_order_mark_does_no_harm(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SMALL).encode())
    assert count.params(open_model(str(path))) == 86_848


def test_nan_and_infinity_hurt_only_where_a_size_is_meant(tmp_path):
    assert open_model(
        str(written(tmp_path / "a.json", {**SMALL, "time_step_limit": [0.0, float("inf")]}))
    ).vocab
    with pytest.raises(DataError, match="hidden_size"):
        open_model(str(written(tmp_path / "b.json", {**SMALL, "hidden_size": float("nan")})))


NO_CONFIG = {  # what is wrong -> files of which that is said
    "no JSON": (b"", b"{", json.dumps(SMALL).encode()[:-20]),
    "no object": (b"[1, 2]", b'"text"'),
    "no text": (b"\x80\x03}q\x00.", b"PK\x03\x04\x00\xff"),
    "too deep": (b"[" * 200_000, b'{"a":' * 200_000),
    "a key twice": (b'{"hidden_size": 1, "hidden_size": 2}',),
    "sizes are missing": (b'{"hidden_size": ' + b"9" * 10_000 + b"}", b"{}"),
    "an index": (b'{"weight_map": {}}',),
    "of a tokenizer": (b'{"tokenizer_class": "x"}',),
    "of an adapter": (b'{"peft_type": "LORA"}',),
}


def test_what_is_no_config_says_so(tmp_path):
    """Each fault by a sentence of its own, which names the file or what is missing."""
    path = tmp_path / "config.json"
    said = {}
    for fault, raws in NO_CONFIG.items():
        for raw in raws:
            path.write_bytes(raw)
            with pytest.raises(DataError) as refused:
                open_model(str(path))
            assert values(refused.value.sentence), fault
            assert same(said.setdefault(fault, refused.value.sentence), refused.value.sentence), raw[:40]
    assert len(set(map(str, said.values()))) == len(NO_CONFIG)
    assert values(said["a key twice"])["key"] == "hidden_size"


def test_a_key_given_twice_alike_is_forgiven():
    assert parse_json(b'{"a": 1, "a": 1}', "x") == {"a": 1}


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(MAX_CONFIG_BYTES + 1)
    tracemalloc.start()
    with pytest.raises(DataError) as refused:
        open_model(str(path))
    assert {"size", "limit"} <= values(refused.value.sentence).keys()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@posix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(device):
    with pytest.raises(DataError) as refused:
        open_model(device)
    assert values(refused.value.sentence) == {"path": device}


@posix
def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(DataError, match="pipe"):
        open_model(str(tmp_path / "config.json"))


@posix
def test_a_link_to_itself_does_not_hang(tmp_path):
    loop = tmp_path / "config.json"
    loop.symlink_to(loop)
    with pytest.raises(RigError):
        open_model(str(loop))
    with pytest.raises(RigError):
        open_model(str(tmp_path))


def test_a_link_to_a_config_is_followed(tmp_path):
    real = written(tmp_path / "blob")
    try:
        (tmp_path / "config.json").symlink_to(real)
    except OSError:
        pytest.skip("links cannot be made here")
    assert count.params(open_model(str(tmp_path / "config.json"))) == 86_848


@pytest.mark.parametrize(
    "asked", ["./nothing.json", "/no/such/folder/x.gguf", "~/nowhere/config.json", "a/b/c.safetensors"]
)
def test_a_path_that_is_not_there_says_so(asked):
    with pytest.raises(MissingError) as refused:
        open_model(asked)
    assert Path(values(refused.value.sentence)["file"]).name == Path(asked).name


@pytest.mark.parametrize("name", ["model.bin", "model.pt", "model.onnx", "model.ckpt"])
def test_files_that_can_run_code_are_not_opened(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x80\x04N.")
    with pytest.raises(AskError, match=r"config\.json") as refused:
        open_model(str(tmp_path / name))
    assert values(refused.value.sentence) == {"path": str(tmp_path / name)}


def test_an_empty_folder_says_what_it_lacks(tmp_path):
    with pytest.raises(MissingError, match=r"config\.json"):
        open_model(str(tmp_path))


@pytest.mark.parametrize(
    "asked", ["", "   ", "\0", "x" * 5000, "/" * 300, "a\0b.json", "con:fig", "*?<>|", "..", "hub:", "hub:x"]
)
def test_odd_texts_are_refused_in_a_sentence(asked):
    with pytest.raises(RigError):
        open_model(asked)


def test_a_program_needs_leave_to_run(tmp_path):
    ran = tmp_path / "ran"
    program = tmp_path / "net.py"
    program.write_text(f"open({str(ran)!r}, 'w')\n", encoding="utf-8")
    with pytest.raises(AskError, match="--run-code"):
        open_model(f"{program}:make")
    with pytest.raises(AskError, match="--run-code"):
        open_model(str(program))
    assert not ran.exists()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    change=st.dictionaries(
        st.sampled_from(
            [
                *SMALL,
                "head_dim",
                "sliding_window",
                "layer_types",
                "architectures",
                "quantization_config",
                "text_config",
            ]
        ),
        json_values,
        max_size=4,
    )
)
def test_no_config_breaks_the_reader(tmp_path, change):
    path = written(tmp_path / "config.json", {**SMALL, **change})
    with contextlib.suppress(RigError):
        assert count.params(open_model(str(path))) > 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    raw=st.binary(max_size=400)
    | st.text(alphabet='{}[]",:0123456789.eE-+ntfNI\\u', max_size=400).map(str.encode)
)
def test_no_bytes_break_the_json_reader(tmp_path, raw):
    path = tmp_path / "config.json"
    path.write_bytes(raw)
    with contextlib.suppress(RigError):
        assert isinstance(read_json(path), dict)
