"""The items of the guides: each has a truth and a command that is understood, and questions find them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from rigright.base.words import tell
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import verb_parser
from rigright.facts.guides import asked_item, guide_items, myths
from rigright.verbs.look_up.kinds.guides import right

SHARED = Path(__file__).parents[2] / ".." / "shared" / "guides"
ITEMS = {item.id: item for item in guide_items()}


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_an_item_says_what_is_true_in_both_languages(item):
    for sentence in (item.says, right(item)):
        english, chinese = tell(sentence, "en"), tell(sentence, "zh")
        assert english
        assert chinese
        assert "{" not in english + chinese
        assert not re.search("[\u4e00-\u9fff]", english)


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_the_command_of_an_item_is_understood(item):
    verb, *arguments = shlex.split(item.command)
    assert verb in verbs()
    assert verb_parser(verb, "en").read(arguments)


def test_every_myth_of_a_guide_is_told_by_one_of_its_items():
    told = {number for item in ITEMS.values() for number in item.myths}
    assert told == {myth.id for myth in myths()}


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_its_first_word_finds_it_or_one_that_it_shares_the_word_with(item):
    found = asked_item(f"{item.words[0]}？")
    assert found is not None
    assert found == item or found.words[0] == item.words[0] or item.words[0] in " ".join(found.words)


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("用什么监控工具好", "0.22"),
        ("双卡需要 NVLink 吗？", "1.35"),
        ("swap 多大合适", "2.26"),
        ("what about mixed precision", "3.17"),
        ("SATA与NVMe差多少", "2.23"),
        ("怎么卸载旧驱动", "3.22"),
    ],
)
def test_a_question_finds_its_item(question, item):
    assert asked_item(question).id == item


def test_a_part_of_a_longer_word_is_no_question():
    assert asked_item("jaxlike") is None
    assert asked_item("champ") is None


def test_the_items_are_those_of_the_guides():
    if not SHARED.exists():
        pytest.skip("the guides lie beside a working copy only")
    text = (SHARED / "items.md").read_text(encoding="utf-8")
    assert sorted(ITEMS) == sorted(re.findall(r"^\|(\d\.\d+)\|", text, re.MULTILINE))
