"""The zoo: every model opens, the file is as the packer writes it, and opening one does not parse all."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from datetime import date

import pytest

from rigright.arch import count
from rigright.arch.sources import files, zoo
from rigright.arch.sources.identity import identities, identity_of, shared
from rigright.arch.sources.spelling import spell

COUNTED_OTHERWISE = {  # the published total counts ...
    "Wan-AI/Wan2.2-T2V-A14B": "both networks, which take turns",
    "Wan-AI/Wan2.2-I2V-A14B": "both networks, which take turns",
    "Qwen/Qwen3.5-9B": "draft layers too",
    "Qwen/Qwen3.8-Flash-Next": "draft layers too",
    "zai-org/GLM-5.3-Flash": "draft layers too",
    "zai-org/GLM-5.3": "draft layers too",
    "tencent/Hy4-preview": "draft layers too",
    "tencent/Hy3": "draft layers too",
    "tencent/Hy3-preview": "draft layers too",
    "stepfun-ai/Step-3.5-Flash": "draft layers too",
    "inclusionAI/Ling-3.0-flash": "draft layers too",
    "meta-models/Muse-Glimmer-30B": "its image tower too",
    "mistralai/Mistral-Medium-3.5-128B": "a larger image tower",
    "EleutherAI/pythia-160m-deduped": "buffers of positions and masks too",
    "EleutherAI/pythia-160m-seed2": "buffers of positions and masks too",
    "EleutherAI/pythia-70m-deduped": "buffers of positions and masks too",
    "EleutherAI/pythia-160m-data-seed1": "no output matrix",
    "EleutherAI/pythia-160m-data-seed3": "no output matrix",
    "EleutherAI/pythia-160m-weight-seed3": "no output matrix",
    "Qwen/Qwen3-4B-Instruct-2507-FP8": "the tied head a second time",
    "tiiuae/falcon-7b-instruct": "the tied head a second time",
    "baichuan-inc/Baichuan-7B": "a part of the files only",
    "internlm/internlm-chat-7b": "a part of the files only",
    "internlm/internlm2-base-7b": "a part of the files only",
    "upstage/SOLAR-0-70b-16bit": "a part of the files only",
    "google/gemma-4-E2B-it": "weights of layers that share caches too",
    "google/gemma-4-E4B-it": "weights of layers that share caches too",
    "nvidia/Cosmos-Reason2-2B": "the tied head a second time",
    "openai/gpt-oss-safeguard-20b": "scales of the packed experts",
    "deepseek-ai/DeepSeek-V4-Flash-0731": "scales and packed halves",
    "jinaai/jina-embeddings-v3": "adapters of five tasks",
    "EleutherAI/gpt-neo-125m": "buffers of masks too",
    "openai-community/gpt2-medium": "buffers of masks too",
    "openai-community/openai-gpt": "buffers of masks too",
    "openai/whisper-base": "a rounded figure",
    "Wan-AI/Wan2.1-T2V-1.3B": "a rounded figure",
}


def test_every_model_opens():
    names = zoo.every_name()
    assert len(names) >= 520
    assert len(set(map(str.lower, names))) == len(names)
    for name in names:
        assert zoo.arch(name).name == name


def test_names_are_sorted_and_lines_are_canonical():
    lines = zoo._text().splitlines()
    assert lines == sorted(lines)
    for line in lines:
        held = json.loads(line)
        name = held.pop("_model")
        again = json.dumps(
            {"_model": name, **dict(sorted(held.items()))}, ensure_ascii=False, separators=(",", ":")
        )
        assert line == again
        assert held["_source"]
        assert held["_fidelity"]


def test_the_zoo_is_the_packed_folder(shared, root):
    pack = runpy.run_path(str(root / "scripts" / "zoo"))["line"]
    packed = sorted(pack(path) for path in (shared / "models" / "configs").glob("*.json"))
    assert zoo.COLLECTED.read_text(encoding="utf-8").splitlines() == packed


def test_opening_one_parses_one(monkeypatch):
    parsed = []

    def counting(raw, where):
        parsed.append(where)
        return files.parse_json(raw, where)

    monkeypatch.setattr(zoo, "parse_json", counting)
    zoo._config.cache_clear()
    zoo.config("openai/gpt-oss-20b")
    zoo._config.cache_clear()
    assert parsed == ["openai/gpt-oss-20b"]


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B", "META-LLAMA/llama-3.1-8b"])
def test_a_whole_name_is_exact_in_any_case(name):
    assert zoo.exact(name) == "meta-llama/Llama-3.1-8B"


def test_keys_of_one_model_are_not_another(shared):
    for path in sorted((shared / "models" / "configs").glob("Qwen__Qwen3-*.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        assert zoo.config(config["_model"]) == config


def test_a_name_without_its_publisher_is_exact_where_it_is_the_only_one():
    assert zoo.exact("llama-3.1-8b") == "meta-llama/Llama-3.1-8B"
    assert zoo.exact("GLM-4-9B-0414") == "zai-org/GLM-4-9B-0414"
    assert zoo.exact("llama-3.1") is None
    with pytest.raises(ValueError, match="not found"):
        zoo.config("no/such")


def test_every_model_has_the_parameters_its_publisher_states():
    """A config of our own, or another model's: right only where its parameters are the published ones."""
    derived = {name for name in zoo.names() if zoo.config(name)["_source"] and name in own_lines()}
    for known in identities():
        name = next((one for one in (known.name, f"{known.name}#transformer") if one in derived), None)
        name = name or (known.name if known.name in shared() else None)
        if name is None or known.params is None or known.name in COUNTED_OTHERWISE:
            continue
        arch = zoo.arch(name)
        whole = count.params(arch) + count.params(replace(arch, towers=arch.spare))
        off = min(abs(total / known.params - 1) for total in (count.params(arch), whole))
        rounded = known.params % 10_000_000 == 0
        assert off <= (0.06 if rounded else 0.011) or spell(name).formats, (name, off)


def own_lines():
    return {json.loads(line)["_model"] for line in zoo.DERIVED.read_text(encoding="utf-8").splitlines()}


def test_the_longest_context_is_the_advertised_one():
    advertised = {"meta-llama/Llama-2-70b-hf": 4096, "google/gemma-3-27b-it": 131072, "Qwen/Qwen3-8B": 32768}
    for name, context_tok in advertised.items():
        assert zoo.arch(name).max_context_tok == context_tok


def test_identity_rows_are_whole_and_of_models_that_exist():
    for known in identities():
        assert identity_of(known.name) == known
        assert known.base is None or known.base in zoo.names()
        assert known.released is None or date.fromisoformat(known.released)
    assert len({known.name.lower() for known in identities()}) == len(identities()) >= 706
