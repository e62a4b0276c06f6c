"""A word without a kind finds what it names, and everything that speaks of it, in either language."""

from __future__ import annotations

from datetime import date

import pytest

from rigright.base.errors import AskError
from rigright.base.words import tell
from rigright.report.pages.look_up import findings_page, findings_plain
from rigright.verbs.look_up.frame import find_kind, kind_names, look_up
from rigright.verbs.look_up.search import search

TODAY = date(2026, 11, 22)


def test_a_name_is_shown_in_full():
    for text, kind, key, value in (
        ("4090", "chips", "id", "rtx-4090"),
        ("qwen3-8b", "model", "name", "Qwen/Qwen3-8B"),
        ("vllm", "engines", "id", "vllm"),
        ("awq", "formats", "id", "awq4"),
        ("xid 79", "xids", "code", 79),
    ):
        found = search(text, today=TODAY)
        assert found.hit is not None, text
        assert found.hit.kind == find_kind(kind), text
        assert findings_plain(found, "en")["hit"][key] == value
        assert tell(find_kind(kind).title, "en") in tell(findings_page(found).title, "en"), text


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
    with pytest.raises(AskError, match="zxqvwk"):
        search("zxqvwk", today=TODAY)


def test_no_word_breaks():
    for text in ("", "7b", "../x"):
        try:
            found = search(text, today=TODAY)
        except AskError:
            continue
        assert set(found.found) <= set(kind_names()), text
