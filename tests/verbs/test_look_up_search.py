"""A word without a kind finds what it names, and everything that speaks of it, in either language."""

from __future__ import annotations

import time
from datetime import date

import pytest

from rigright.base.errors import AskError
from rigright.report.pages.look_up import findings_page, findings_plain
from rigright.verbs.look_up.frame import kind_names, look_up
from rigright.verbs.look_up.search import search

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    ("text", "title", "key", "value"),
    [
        ("4090", "Chips", "id", "rtx-4090"),
        ("rtx 5090", "Chips", "id", "rtx-5090"),
        ("qwen3-8b", "Model", "name", "Qwen/Qwen3-8B"),
        ("llama 3.1 70b", "Model", "name", "meta-llama/Llama-3.1-70B"),
        ("vllm", "Serving engines", "id", "vllm"),
        ("awq", "Weight formats, best quality first", "id", "awq4"),
        ("q4_k_m", "Weight formats, best quality first", "id", "gguf:Q4_K_M"),
        ("xid 79", "XID codes of the NVIDIA driver", "code", 79),
    ],
)
def test_a_name_is_shown_in_full(text, title, key, value):
    found = search(text, today=TODAY)
    assert found.hit is not None
    assert findings_plain(found, "en")["hit"][key] == value
    assert str(findings_page(found).title).startswith(f"{title}: ")


@pytest.mark.parametrize(
    ("text", "kind"),
    [("显存", "myths"), ("显存", "checks"), ("ascend", "chips"), ("昇腾", "chips"), ("nvlink", "chips")],
)
def test_a_word_is_found_wherever_it_is_spoken_of(text, kind):
    assert search(text, today=TODAY).found[kind].total


def test_a_kind_filters_on_every_text_in_both_languages():
    ascend = look_up("chips", ("ascend",), today=TODAY)
    assert ascend.total >= 2
    assert {chip.vendor for chip in ascend.records} == {"Huawei"}
    assert look_up("chips", ("nvidia",), today=TODAY).total > 100
    assert look_up("myths", ("显存",), today=TODAY).total > 3


def test_what_nothing_speaks_of_says_so():
    with pytest.raises(AskError, match="nothing found"):
        search("zxqvwk", today=TODAY)


@pytest.mark.parametrize("text", ["4090", "显存", "qwen", "a", "", "7b", "h100", "../x", "%"])
def test_no_word_is_slow_or_breaks(text):
    start = time.process_time()
    try:
        found = search(text, today=TODAY)
    except AskError:
        return
    assert set(found.found) <= set(kind_names())
    assert time.process_time() - start < 30
