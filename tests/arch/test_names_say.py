"""What a name says beside the model: how the weights are stored and which engine reads them."""

from __future__ import annotations

import contextlib
import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch.sources import spelling, zoo
from rigright.arch.sources.find import find, is_known
from rigright.arch.sources.open import open_model
from rigright.arch.sources.spelling import spell, tables
from rigright.base.errors import AskError, MissingError, RigError
from rigright.base.tables import DATA, read_rows, text
from rigright.facts.engines import engines
from rigright.facts.formats import find_format, mixes
from spoken import values

with (Path(__file__).parent / "names.csv").open(encoding="utf-8", newline="") as file:
    NAMES = [tuple(row.values()) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("asked", "model", "stored", "engine"), NAMES)
def test_a_name_says_its_model_format_and_engine(asked, model, stored, engine):
    found = open_model(asked)
    assert (found.name, found.stored or "", found.engine or "") == (model, stored, engine)


def test_the_engines_and_formats_that_names_say_are_those_of_the_tables():
    assert set(tables()["engines"].values()) <= set(engines())
    assert tables()["gguf"]["mixes"] == sorted(
        mix for mix in mixes() if mix not in {"F32", "F16", "BF16", "MXFP4", "NVFP4"}
    )
    assert set(tables()["gguf"]["usual"].values()) <= set(mixes())


def test_every_row_of_the_library_is_a_model_in_a_format_that_exists():
    for row in read_rows(DATA / "ollama_tags.csv", dict.fromkeys(("tag", "latest", "model", "format"), text)):
        assert row["format"] is None or find_format(f"gguf:{row['format']}")
        assert row["latest"] or row["model"] or ":" in row["tag"]
        if row["model"]:
            found = find(row["tag"] if ":" in row["tag"] else f"ollama/{row['tag']}")
            assert found.engine == "ollama"
            assert found.stored == spelling.read_tag(f"ollama/{row['tag']}").stored


@pytest.mark.parametrize("size", ["7b", "70b", "a 70b model", "8B 参数的模型", "一个 32b 的大模型", "1t"])
def test_a_size_alone_takes_a_well_known_model_and_names_others(size):
    found = find(size)
    assert found.name in {names[0] for names in tables()["meant"].values()}
    assert found.name in str(found.warnings[-1])


@pytest.mark.parametrize("size", ["17b", "55b", "3t"])
def test_a_size_of_no_well_known_model_lists_the_nearest(size):
    with pytest.raises(AskError) as refused:
        find(size)
    told = values(refused.value.sentence)
    assert told["size"] == size
    assert set(told["names"].split(", ")) <= set(zoo.every_name())


@pytest.mark.parametrize("memory", ["24GB", "24 gb", "80g", "24gb vram", "16GiB"])
def test_a_size_of_memory_is_no_model(memory):
    with pytest.raises(AskError) as refused:
        find(memory)
    assert values(refused.value.sentence) == {"asked": memory}


def test_the_models_that_sizes_mean_are_of_the_zoo():
    for models in tables()["meant"].values():
        assert set(models) <= set(zoo.every_name())


@pytest.mark.parametrize(
    ("family", "newest", "others"),
    [
        ("qwen 7b", "Qwen/Qwen2.5-7B", ["Qwen/Qwen2-7B", "Qwen/Qwen1.5-7B"]),
        ("llama 70b", "meta-llama/Llama-3.3-70B-Instruct", ["meta-llama/Llama-3.1-70B", "Llama-2-70b"]),
        ("gemma 27b", "google/gemma-3-27b-it", ["google/gemma-2-27b"]),
    ],
)
def test_a_family_and_a_size_are_its_newest_model_with_the_others_named(family, newest, others):
    found = find(family)
    assert found.name == newest
    assert all(other in str(found.warnings[-1]) for other in others)


@pytest.mark.parametrize(
    ("asked", "never"),
    [
        ("codestral", "Mamba"),
        ("chatglm-6b", "chatglm2"),
        ("internlm-20b", "internlm2"),
        ("starcoder-15b", "2"),
    ],
)
def test_no_name_crosses_a_generation_or_a_kind_of_architecture(asked, never):
    assert not is_known(asked) or never not in find(asked).name


def test_a_file_that_is_not_here_says_its_model_and_any_other_is_missing():
    assert open_model("Qwen3-32B-UD-Q6_K_XL.gguf").stored == "gguf:Q6_K_XL"
    assert open_model("Llama-3.3-70B-Instruct-Q4_K_M-00001-of-00002.gguf").stored == "gguf:Q4_K_M"
    for asked in ("./Qwen3-32B-Q6_K.gguf", "nothing.gguf", "models/Qwen3-32B-Q6_K.gguf"):
        with pytest.raises(MissingError):
            open_model(asked)


@pytest.mark.parametrize("mix", [mix for mix in mixes() if "_" in mix])
def test_a_mix_is_read_however_it_is_spelt(mix):
    for spelt in {mix, mix.lower(), mix.replace("_", "-"), f"UD-{mix}"} | (
        {mix.replace("_", "")} if "_K" in mix else set()
    ):
        assert spell(f"llama-3.1-8b-{spelt}").stored == f"gguf:{mix}", spelt


PIECES = [
    "qwen",
    "llama3",
    "7b",
    "70b",
    ":",
    "/",
    "-",
    "q4",
    "k_m",
    "GGUF",
    "awq",
    "hf.co/",
    "ollama",
    "ai/",
    "exl3",
    "mlx-community/",
    "latest",
    "1t",
    "24gb",
]
PIECES += ["参数", "的", "模型", "mxfp4", ".gguf", "8x", "bpw", "a"]


@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_any_mix_of_words_and_signs_is_a_model_or_a_sentence(pieces):
    asked = "".join(pieces)
    with contextlib.suppress(RigError):
        found = open_model(asked)
        assert found.name in zoo.every_name()
        assert found.stored is None or find_format(found.stored).id == found.stored
        assert found.engine is None or found.engine in engines()
