"""Computers that people call by their own names."""

from __future__ import annotations

import pytest

from rigright.base.errors import AskError
from rigright.facts.chips import by_id
from rigright.facts.computers import computers
from rigright.facts.nodes import find_node

CALLED = {  # what people write -> chips of the machine
    "mac studio 512gb": ("apple-m3-ultra",),
    "Mac Studio M3 Ultra 512GB": ("apple-m3-ultra",),
    "MacBook Pro M4 Max 128gb": ("apple-m4-max-40c",),
    "macbook-pro m2 max": ("apple-m2-max",),
    "64gb mac mini": ("apple-m5-pro",),
    "m4 mac mini 32gb": ("apple-m4",),
    "mac mini m4 pro 64gb": ("apple-m4-pro",),
    "gmktec evo-x2 96gb": ("strix-halo-8060s",),
    "ASUS Ascent GX10": ("dgx-spark-gb10",),
    "mac mini": ("apple-m5",),
}


@pytest.mark.parametrize("text", CALLED)
def test_a_computer_is_its_chip(text):
    assert tuple(card.chip.id for card in find_node(text).cards) == CALLED[text]


def test_every_computer_is_found_in_each_of_its_spellings_and_several_are_machines():
    for computer in computers():
        assert {*computer.chips} <= {*by_id()}
        for text in (computer.name, computer.name.upper(), computer.name.replace(" ", "-")):
            assert find_node(text).cards[0].chip.id == computer.chips[0], text
        alone = find_node(f"2x {computer.name}")
        assert alone.n_nodes * len(alone.cards) == 2


def test_a_size_that_is_not_sold_is_refused_with_those_that_are():
    with pytest.raises(AskError, match="mac mini") as refused:
        find_node("mac mini 5gb")
    assert "64" in str(refused.value.hint)


def test_what_else_it_may_be_is_said():
    (note,) = find_node("mac mini 24gb").notes
    assert by_id()["apple-m4"].name in str(note)
    assert not find_node("asus ascent gx10").notes
