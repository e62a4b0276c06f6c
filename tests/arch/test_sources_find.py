"""Loose names: clear ones resolve, unclear ones list what they could mean, wrong ones suggest the nearest."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import cache, count
from rigright.arch.sources import near, zoo
from rigright.arch.sources.find import find, is_known
from rigright.arch.sources.spelling import spell, tables
from rigright.base.errors import AskError, RigError
from rigright.base.words import tell
from rigright.facts.formats import find_format, mixes
from spoken import values

CLEAR = {
    "llama 3.1 70b": "meta-llama/Llama-3.1-70B",
    "llama-3.1-70b": "meta-llama/Llama-3.1-70B",
    "Llama3.1-70B": "meta-llama/Llama-3.1-70B",
    "llama3-1-70b": "meta-llama/Llama-3.1-70B",
    "LLAMA3_70B": "meta-llama/Meta-Llama-3-70B",
    "Meta-Llama-3-8B-Instruct": "meta-llama/Meta-Llama-3-8B-Instruct",
    "llama3.1:8b-instruct-q4_K_M": "meta-llama/Llama-3.1-8B-Instruct",
    "qwen2.5:7b": "Qwen/Qwen2.5-7B",
    "qwen2.5-7b-instruct-awq": "Qwen/Qwen2.5-7B-Instruct",
    "Qwen3_235B_a22B": "Qwen/Qwen3-235B-A22B",
    "qwen3 235b fp8": "Qwen/Qwen3-235B-A22B-FP8",
    "qwen3 30b": "Qwen/Qwen3-30B-A3B",
    "qwen3-30b-a3b-instruct-2507": "Qwen/Qwen3-30B-A3B-Instruct-2507",
    "qwen3 coder 480b": "Qwen/Qwen3-Coder-480B-A35B-Instruct",
    "qwq32b": "Qwen/QwQ-32B",
    "deepseek r1": "deepseek-ai/DeepSeek-R1",
    "deepseekv3": "deepseek-ai/DeepSeek-V3",
    "deepseek-v3-0324": "deepseek-ai/DeepSeek-V3-0324",
    "mistral-small-2409": "mistralai/Mistral-Small-Instruct-2409",
    "vicuna 13b": "meta-llama/Llama-2-13b-hf",
    "DeepSeekV4 Flash": "deepseek-ai/DeepSeek-V4-Flash",
    "deepseek-r1:32b": "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
    "r1-distill 32b": "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
    "gemma 3 27b": "google/gemma-3-27b-it",
    "gemma3:27b": "google/gemma-3-27b-it",
    "gpt-oss 120b": "openai/gpt-oss-120b",
    "gpt2": "openai-community/gpt2",
    "sd 1.5": "stable-diffusion-v1-5/stable-diffusion-v1-5#unet",
    "sd 1.5 vae": "stable-diffusion-v1-5/stable-diffusion-v1-5#vae",
    "sd 2.1": "stabilityai/stable-diffusion-2-1#unet",
    "sdxl": "stabilityai/stable-diffusion-xl-base-1.0#unet",
    "sd3": "stabilityai/stable-diffusion-3-medium#transformer",
    "flux schnell": "black-forest-labs/FLUX.1-schnell#transformer",
    "bert base": "google-bert/bert-base-uncased",
    "t5 base": "google-t5/t5-base",
    "vit-b/16": "google/vit-base-patch16-224",
    "clip vit l/14": "openai/clip-vit-large-patch14",
    "whisper large v3": "openai/whisper-large-v3",
    "resnet50": "microsoft/resnet-50",
    "command r+": "CohereForAI/c4ai-command-r-plus",
    "kimi k2": "moonshotai/Kimi-K2-Instruct",
    "llama4-maverick": "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "mistral-large-2411": "mistralai/Mistral-Large-Instruct-2407",
    "vicuna-7b-v1.5": "meta-llama/Llama-2-7b-hf",
    "千问3 8B": "Qwen/Qwen3-8B",
    "深度求索 V3": "deepseek-ai/DeepSeek-V3",
    "百川2 7b": "baichuan-inc/Baichuan2-7B-Chat",
    "智谱 GLM-4.5": "zai-org/GLM-4.5",
    "通义千问２．５－７Ｂ": "Qwen/Qwen2.5-7B",
    "mistral 7b": "mistralai/Mistral-7B-Instruct-v0.3",
    "通义千问 7b": "Qwen/Qwen2.5-7B",
    "文心 4.5 21b": "baidu/ERNIE-4.5-21B-A3B-PT",
}
UNCLEAR = {
    "mixtral": ("mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x22B-v0.1"),
    "书生": ("internlm/internlm-7b", "internlm/internlm2_5-7b", "internlm/internlm2-7b"),
    "gpt oss": ("openai/gpt-oss-20b", "openai/gpt-oss-120b"),
    "MiniMax": ("MiniMaxAI/MiniMax-M3", "MiniMaxAI/MiniMax-M2.7"),
    "deepseek v4": ("deepseek-ai/DeepSeek-V4-Pro", "deepseek-ai/DeepSeek-V4-Flash"),
}
WRONG = {
    "lama 3.1 8b": "meta-llama/Llama-3.1-8B",
    "quen2.5 7b": "Qwen/Qwen2.5-7B",
    "bert-base-cased": "google-bert/bert-base-uncased",
    "glm 4.6 air": "zai-org/GLM-4.5-Air",
    "mistral-small-2411": "mistralai/Mistral-Small-24B-Instruct-2501",
    "llama 3.1 13b": "meta-llama/Llama-3.1-8B",
    "flux.3-dev": "black-forest-labs/FLUX.1-dev#transformer",
    "deepseek-v4.1-flash": "deepseek-ai/DeepSeek-V4-Flash",
}
STORED = {
    "qwen2.5-7b-instruct-awq": "awq4",
    "Qwen2.5-7B-Instruct-GPTQ-Int4": "gptq4",
    "Qwen2.5-7B-Instruct-GPTQ-Int8": "gptq8",
    "llama-3.1-8b bnb 4bit": "nf4",
    "Qwen3-8B-MLX-4bit": "mlx4",
    "qwen3-8b mlx8": "mlx8",
    "qwen3-8b awq4": "awq4",
    "llama-3.1-70b gguf:Q4_K_M": "gguf:Q4_K_M",
    "Llama-3.1-70B-IQ2_XS.gguf"[:-5]: "gguf:IQ2_XS",
    "llama 3.1 70b nvfp4": "nvfp4",
    "llama 3.1 70b bf16": None,
    "deepseek v3": "fp8-block",
    "deepseek v3 fp8": "fp8-block",
    "deepseek v3 awq": "awq4",
    "gpt-oss-20b": "mxfp4",
    "qwen3.6 27b": None,
    "nvidia/Qwen3.6-27B-NVFP4": "nvfp4",
}


@pytest.mark.parametrize(("asked", "name"), CLEAR.items())
def test_clear_names_resolve(asked, name):
    assert find(asked).name == name


@pytest.mark.parametrize(("asked", "names"), UNCLEAR.items())
def test_unclear_names_list_what_they_could_mean(asked, names):
    with pytest.raises(AskError) as caught:
        find(asked)
    told = values(caught.value.sentence)["names"]
    assert [told.index(name) for name in names] == sorted(told.index(name) for name in names)


@pytest.mark.parametrize(("asked", "name"), WRONG.items())
def test_wrong_names_suggest_the_nearest(asked, name):
    with pytest.raises(AskError) as caught:
        find(asked)
    assert name in values(caught.value.hint)["names"].split(", ")


@pytest.mark.parametrize(("asked", "stored"), STORED.items())
def test_the_storage_named_is_the_storage_meant(asked, stored):
    assert find(asked).stored == stored


def test_a_name_of_another_training_says_so():
    note = find("gemma-2-27b-it").warnings[-1]
    assert "gemma-2-27b" in str(note)
    assert find("meta-llama/Meta-Llama-3-8B").warnings == zoo.arch("meta-llama/Meta-Llama-3-8B").warnings


def test_every_model_of_the_zoo_answers_to_its_own_name_and_to_its_name_alone():
    for name in zoo.names():
        assert find(name).name == name
        own = find(name.partition("/")[2])
        assert own.towers == zoo.arch(name).towers, name


def test_every_alias_is_of_a_model_and_answers():
    for row in near.alias_rows():
        assert row["model"] in zoo.every_name()
        assert row["source"]
        assert find(row["alias"]).towers == zoo.arch(row["model"]).towers


def test_no_alias_hides_a_model():
    spelt = [spell(name.rpartition("/")[2]) for name in zoo.names()]
    taken = {own.words for own in spelt if not own.formats}  # a packed copy is found by its format
    for row in near.alias_rows():
        alias = spell(row["alias"])
        assert alias.dates or row["alias"].startswith(("llama-3", "resnet")) or alias.words not in taken


def test_words_of_storage_name_formats_that_exist():
    for word, stored in tables()["formats"].items():
        assert not stored or find_format(stored).id == stored, word


def test_every_gguf_mix_is_read_out_of_a_name():
    for mix in mixes():
        if "_" in mix:
            assert find(f"llama-3.1-8b-{mix}").stored == f"gguf:{mix}"


def rows(shared, *names):
    for name in names:
        with (shared / "measured" / name).open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def test_every_arch_of_the_measured_runs_is_of_the_zoo(shared):
    for arch in {row["arch"] for row in rows(shared, "inference.csv", "memory.csv", "training.csv")} - {""}:
        assert find(arch).name == arch


def test_every_model_of_the_measured_runs_resolves_to_its_arch(shared):
    pairs = {
        (row["model"], row["arch"]) for row in rows(shared, "inference.csv", "memory.csv", "training.csv")
    }
    pairs = {(model, arch) for model, arch in pairs if arch}
    for model, arch in pairs:
        found, meant = find(model), zoo.arch(arch)
        assert count.params(found) == count.params(meant), model
        assert cache.kv_bytes_per_token(found) == cache.kv_bytes_per_token(meant), model
    assert len(pairs) > 100


@given(st.text(max_size=80))
def test_any_text_is_found_or_refused_in_a_sentence(text):
    told = ""
    try:
        found = find(text)
    except RigError as error:
        told = tell(error.sentence, "en") and tell(error.sentence, "zh")
    assert told or found.name in zoo.every_name()


@given(
    st.lists(
        st.sampled_from(
            ["llama", "3", "qwen", "7b", "70b", "v3", "awq", "千问", "instruct", "-", "/", "#", "vae", "1.5"]
        )
    )
)
def test_any_mix_of_words_is_found_or_refused(words):
    asked = " ".join(words)
    if is_known(asked):
        assert find(asked).name in zoo.every_name()


def test_a_novel_is_no_name():
    with pytest.raises(AskError):
        find("llama " * 100_000)


def test_a_length_in_a_name_is_its_context():
    assert find("qwen2.5-7b-1m").max_context_tok == 1_000_000
    assert find("llama-2-7b-32k").max_context_tok == 32 * 1024


@pytest.mark.parametrize("asked", ["Qwen/Qwen3.5-2B", "qwen3.5 2b", "llama-1.3-8b", "gemma-7-2b"])
def test_other_numbers_are_another_model(asked):
    """The letters of Qwen3.5-2B are those of Qwen2.5-3B."""
    with pytest.raises(AskError):
        find(asked)


@pytest.mark.parametrize("row", near.alias_rows(), ids=lambda row: row["alias"])
def test_every_alias_is_found(row):
    assert find(row["alias"]).name.partition("#")[0] == row["model"].partition("#")[0]
