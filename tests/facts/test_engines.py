"""Engines: loose names, versions, and rows that can be trusted."""

import pytest

from rigright.base.errors import RigError
from rigright.facts.chips import chips
from rigright.facts.corrections import corrections
from rigright.facts.engines import at_date, engines, find_engine, unknown_version
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.software import engine_needs


@pytest.mark.parametrize(
    ("asked", "found", "version"),
    [
        ("vllm", "vllm", None),
        ("vLLM 0.8.5", "vllm", "0.8.5"),
        ("vllm==0.6.3", "vllm", "0.6.3"),
        ("vllm v0.9", "vllm", "0.9"),
        ("hf 4.38.2", "transformers", "4.38.2"),
        ("llama.cpp b4000", "llama.cpp", "4000"),
        ("TRT-LLM 0.20", "tensorrt-llm", "0.20"),
        ("exllamav2", "exllama", None),
        ("LM Studio".replace(" ", ""), "llama.cpp", None),
    ],
)
def test_loose_names(asked, found, version):
    engine = find_engine(asked)
    assert engine.id == found
    assert version is None or engine.version == version


def test_a_wrong_name_suggests_the_nearest():
    with pytest.raises(RigError, match="vllm"):
        find_engine("vlm")
    with pytest.raises(RigError, match="transformers"):
        find_engine("")


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("tgi", "vllm"),
        ("llamafile", "llama.cpp"),
        ("lm studio", "llama.cpp"),
        ("nim", "vllm"),
        ("exl3", "exllama"),
        ("faster-whisper", "ctranslate2"),
        ("sglnag", "sglang"),
        ("ipex", ""),
    ],
)
def test_an_engine_that_is_not_known_is_named_with_what_is_nearest(asked, near):
    with pytest.raises(RigError) as refused:
        find_engine(asked)
    assert f'"{asked}"' in str(refused.value)
    assert near in str(refused.value.hint)


def test_versions_change_what_an_engine_does():
    assert find_engine("transformers 4.38").rope_tables == "layer"
    assert find_engine("transformers 4.46").rope_tables == ""
    assert find_engine("vllm 0.6").share == 0.9
    assert find_engine("vllm").share == 0.92
    assert find_engine("llama.cpp b3000").scores
    assert not find_engine("llama.cpp").scores


def test_a_date_stands_for_the_version_of_its_time():
    assert at_date(find_engine("vllm"), "2024-12-14").version == "0.6.1"
    assert at_date(find_engine("llama.cpp"), "2024-12-14").version == find_engine("llama.cpp").version


def test_every_row_is_whole():
    for engine in engines().values():
        assert engine.source
        assert engine.as_of.startswith("20")
        assert engine.confidence in {"high", "med", "low"}
        assert engine.pool in {"share", "exact", "grow"}
        assert engine.split in {"tensor", "layer"}
        assert engine.formats
        for name in (*engine.formats, *engine.says.values()):
            assert find_format(name)
        assert engine.kv_save is None or find_kv_format(engine.kv_save)
        assert engine.pool == "share" or engine.share_flag is None
        assert bool(engine.apart) == bool(engine.apart_source)
        assert set(engine.apart) <= {chip.vendor for chip in chips()}
        assert not engine.apart or engine.split == "tensor"
        for row in engine.before:
            assert find_engine(f"{engine.id} 0.0.1").id == engine.id
            assert set(row) - {"version"} <= set(type(engine).__slots__)


def test_defaults_follow_the_device():
    vllm, gib = find_engine("vllm"), 2**30
    assert vllm.default(vllm.budget_tok, 24 * gib) == 2048
    assert vllm.default(vllm.budget_tok, 80 * gib) == 8192
    assert vllm.default(vllm.budget_tok, 80 * gib, chip="a100-sxm4-80gb") == 2048
    assert vllm.default(None, 80 * gib) is None
    assert vllm.default(vllm.budget_tok, 183 * gib, chip="b200-sxm") == 16384
    assert vllm.default(vllm.budget_tok, 120 * gib, chip="dgx-spark-gb10") == 2048


def test_a_version_that_is_not_known_is_said_and_what_setup_knows_is_known():
    assert unknown_version("vllm 0.99")
    assert not unknown_version("vllm")
    for needs in engine_needs():
        if needs.name in engines() and needs.version[0].isdigit():
            assert not unknown_version(f"{needs.name} {needs.version}"), needs


def test_corrections_name_only_engines_we_know():
    assert set(corrections("memory_serving")["engines"]) - {"default"} <= set(engines())
