"""`look-up model` and `look-up models`: one object for each model asked for, in order, errors among them."""

from __future__ import annotations

import csv
import json
import re
from datetime import date

import pytest

from made_files import llama_gguf, write_gguf, write_safetensors
from programs import rigright
from rigright.arch.sources import zoo
from rigright.base.errors import AskError
from rigright.base.page import Table
from rigright.facts.formats import formats, mixes
from rigright.report.pages.look_up import page, plain
from rigright.verbs.look_up.listing import _read_params
from rigright.verbs.look_up.verb import LookUpWish, look_up

TODAY = date(2026, 1, 1)
PROMISED = (
    "name",
    "params",
    "active_params",
    "embedding_params",
    "kv_bytes_per_token",
    "kv_constant_bytes",
    "max_context_tok",
    "weights_bytes",
    "warnings",
    "family",
    "task",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "vocab",
    "tied",
    "dtype",
    "stored",
    "source",
    "flops_per_tok",
)
CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
    "tie_word_embeddings": True,
}


def told(*words, language="en", **how):
    listing = look_up("model", tuple(words), today=TODAY, wish=LookUpWish(**how))
    data = plain(listing, language)
    json.dumps(data)
    return data


def test_one_object_each_in_the_order_asked():
    data = told("qwen3 8b", "no such thing", "Llama-3.1-8B", "bert base")
    assert [row["name"] for row in data] == [
        "Qwen/Qwen3-8B",
        "no such thing",
        "meta-llama/Llama-3.1-8B",
        "google-bert/bert-base-uncased",
    ]
    assert "error" in data[1]
    assert all("error" not in data[index] for index in (0, 2, 3))
    assert all(key in row for row in data for key in PROMISED)


def test_the_figures_of_a_model_everyone_knows():
    (row,) = told("meta-llama/Llama-3.1-8B")
    assert row["params"] == 8_030_261_248
    assert row["active_params"] == row["params"]
    assert row["embedding_params"] == 525_336_576
    assert row["kv_bytes_per_token"] == 131_072
    assert row["kv_constant_bytes"] == 0
    assert row["max_context_tok"] == 131_072
    assert row["weights_bytes"]["bf16"] == 2 * row["params"]
    assert set(row["weights_bytes"]) == {*formats(), *(mix.id for mix in mixes().values())}
    assert (row["layers"], row["hidden"], row["heads"], row["kv_heads"]) == (32, 4096, 32, 8)
    assert row["kv_bytes_at"]["131072"] == 131_072 * 131_072
    assert sum(row["params_by_part"].values()) == row["params"]
    assert sum(kind["params"] for tower in row["towers"] for kind in tower["kinds"]) < row["params"]


def test_an_error_among_answers_is_no_success():
    listing = look_up("model", ("gpt2", "no such thing"), today=TODAY)
    assert listing.exit_code == 1
    assert look_up("model", ("gpt2",), today=TODAY).exit_code == 0


def test_windows_fill_and_then_cost_nothing_more():
    (row,) = told("google/gemma-3-27b-it")
    assert row["kv_bytes_per_token"] == 81_920
    at = {int(tok): size for tok, size in row["kv_bytes_at"].items()}
    assert at[131_072] - at[32_768] == 81_920 * (131_072 - 32_768)
    assert at[8192] - at[2048] == 81_920 * (8192 - 2048)


def test_every_listed_parameter_count_is_told(shared):
    with (shared / "models" / "params.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    known = [name for name in zoo.names() if name in rows]
    for name, row in zip(known, (zoo.arch(name) for name in known), strict=True):
        assert row.name == name
    data = plain(look_up("models", (), today=TODAY), "en")
    held = {row["name"]: row["params"] for row in data}
    wrong = {
        name: (held[name], rows[name]["params"]) for name in known if held[name] != int(rows[name]["params"])
    }
    assert not wrong
    assert len(known) > 200


def test_a_config_a_folder_and_a_gguf_are_told_like_names(tmp_path):
    config = tmp_path / "some__thing.json"
    config.write_text(json.dumps(CONFIG), encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    write_safetensors(folder / "model.safetensors", {"model.norm.weight": ("BF16", (64,))})
    gguf = write_gguf(tmp_path / "m.gguf", *llama_gguf((1, 64, 4, 2, 128, 100, 16)))
    data = told(str(config), str(folder), str(gguf))
    assert [row["name"] for row in data] == ["some/thing", "folder", "small llama"]
    assert "files" not in data[0]
    assert data[1]["files"]["tensors_bytes"] == 128
    assert "off by" in data[1]["warnings"][-1]
    assert data[2]["files"]["size_bytes"] == gguf.stat().st_size
    assert data[2]["stored"] == "gguf:F16"


def test_code_runs_only_where_it_is_allowed(tmp_path):
    program = tmp_path / "net.py"
    program.write_text("raise SystemExit\n", encoding="utf-8")
    (row,) = told(f"{program}:make")
    assert "--run-code" in row["error"]


def test_errors_and_warnings_are_told_in_chinese():
    data = told("没有这个模型", "gemma-2-27b-it", language="zh")
    assert "没有" in data[0]["error"]
    assert "架构相同" in data[1]["warnings"][-1]


def test_no_name_is_an_error_with_an_example():
    with pytest.raises(AskError, match=r"llama-3\.1-8b"):
        look_up("model", (), today=TODAY)


def test_a_page_shows_layers_parts_cache_and_sizes():
    shown = page(look_up("model", ("deepseek v3", "nope"), today=TODAY))
    titles = [str(getattr(part, "title", "")) for part in shown.parts]
    assert titles[0] == "deepseek-ai/DeepSeek-V3"
    assert titles[-1] == "nope"
    rows = [part.rows for part in shown.parts if isinstance(part, Table)]
    assert len(rows) == 5, "what it is, layers by kind, parameters by part, cache, weights by format"
    assert all(rows)


def test_models_are_listed_filtered_and_sorted():
    every = look_up("models", (), today=TODAY)
    assert every.total == len(zoo.names())
    small = look_up("models", ("qwen3",), today=TODAY, wish=LookUpWish(where=("params<=2B", "task=text")))
    sizes = [card.params for card in small.records]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size <= 2e9 for size in sizes)
    assert {"Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B"} <= {card.name for card in small.records}
    experts = look_up("models", (), today=TODAY, wish=LookUpWish(where=("family=mixtral",), sort="params"))
    assert next(card.name.partition("-v")[0] for card in experts.records) in {
        "mistralai/Mixtral-8x22B-Instruct",
        "mistralai/Mixtral-8x22B",
    }


def test_a_name_that_lists_nothing_suggests():
    with pytest.raises(AskError, match=r"Qwen/Qwen2\.5-7B, "):
        look_up("models", ("quen2.5", "7b"), today=TODAY)
    assert look_up("models", ("千问3",), today=TODAY).total > 5


@pytest.mark.parametrize(
    ("text", "params"), [("7B", 7e9), ("0.5b", 5e8), ("70", 70), ("8030261248", 8030261248)]
)
def test_numbers_of_parameters_are_read_as_people_write_them(text, params):
    assert _read_params(text) == params


@pytest.mark.parametrize("text", ["b", "seven", "-", "1e999b"])
def test_what_is_no_number_of_parameters_says_so(text):
    with pytest.raises(AskError):
        _read_params(text)


def test_the_program_prints_a_list_and_fails_where_one_failed():
    done = rigright("look-up", "model", "gpt2", "no-such-model-at-all", "--json")
    data = json.loads(done.out)
    assert done.code != 0
    assert [("error" in row) for row in data] == [False, True]
    assert "Traceback" not in done.err
    fine = rigright(
        "look-up", "model", "gpt2", "--json", "--shape", "layers=1,hidden=8,heads=2,ffn=16,vocab=10"
    )
    assert fine.code == 0
    assert [row["layers"] for row in json.loads(fine.out)] == [12, 1]


def test_the_program_shows_a_page():
    done = rigright("look-up", "model", "whisper tiny")
    assert done.code == 0
    assert re.search(r"openai/whisper-tiny", done.out)
