"""The zoo: every model opens, the file is as the packer writes it, and opening one does not parse all."""

from __future__ import annotations

import json
import runpy

import pytest

from rigright.arch.sources import files, zoo


def test_every_model_opens():
    names = zoo.names()
    assert len(names) >= 300
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
    assert zoo._text().splitlines() == packed


def test_opening_one_parses_one(monkeypatch):
    parsed = []

    def counting(raw, where):
        parsed.append(where)
        return files.parse_json(raw, where)

    monkeypatch.setattr(zoo, "parse_json", counting)
    zoo.config.cache_clear()
    zoo.config("openai/gpt-oss-20b")
    zoo.config.cache_clear()
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
