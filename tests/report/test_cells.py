from __future__ import annotations

import pytest
from anypage import LETTERS
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import clean
from rigright.report import screen as cells

TEXT = st.text(alphabet=LETTERS, max_size=80).map(clean)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("显存", 4), ("KV 缓存", 7), ("é", 1), ("e\u0301", 1), ("（", 2), ("", 0)]
)
def test_letters_are_as_wide_as_a_terminal_shows_them(text, width):
    assert cells.width(text) == width


@given(TEXT, st.integers(2, 60))
def test_no_line_is_wider_than_asked(text, room):
    assert all(cells.width(line) <= room for line in cells.wrap(text, room))


@given(TEXT, st.integers(2, 60))
def test_wrapping_loses_no_letter(text, room):
    assert "".join("".join(cells.wrap(text, room)).split()) == "".join(text.split())


@given(TEXT, st.integers(1, 60))
def test_cut_text_fits_and_says_that_it_was_cut(text, room):
    cut = cells.cut(text, room, mark="~")
    assert cells.width(cut) <= room
    assert cut == text or cut.endswith("~")


@given(TEXT, st.booleans())
def test_padding_fills_up_to_the_width(text, right):
    assert cells.width(cells.pad(text, cells.width(text) + 7, right=right)) == cells.width(text) + 7


def test_english_breaks_between_words():
    assert cells.wrap("the parts of one GPU", 9) == ["the parts", "of one", "GPU"]


def test_chinese_breaks_anywhere_but_before_a_closing_mark():
    assert cells.wrap("权重放不下，请换用", 10) == ["权重放不", "下，请换用"]
    assert cells.wrap("每张（共八张）显卡", 8) == ["每张（共", "八张）显", "卡"]


def test_a_word_longer_than_the_line_is_broken():
    assert cells.wrap("aaaaaaaaaa bb", 4) == ["aaaa", "aaaa", "aa", "bb"]


@given(st.text(max_size=60))
def test_nothing_that_steers_a_terminal_comes_through(text):
    assert clean(text).isprintable() or not any(ord(letter) < 32 for letter in clean(text))
    assert "\x1b" not in clean(text)
    assert "\u202e" not in clean(text)


@given(TEXT)
def test_the_longest_word_bounds_what_breaks(text):
    longest = cells.longest_word(text)
    if longest:
        assert all(cells.width(line) <= max(longest, 2) for line in cells.wrap(text, longest))


def test_a_long_name_is_broken_at_its_joints():
    assert cells.wrap("nvidia/Llama-3_3-Nemotron-Super-49B-v1", 24) == [
        "nvidia/Llama-3_3-",
        "Nemotron-Super-49B-v1",
    ]


COMMAND = "`rigright plan qwen3-8b --on '2x rtx 4090' --json`"
SAID = (
    f"no plan in it: write one with {COMMAND}, or leave it out",
    f"{COMMAND} starts it",
    f"其中没有方案：请用 {COMMAND} 写出一个，再试一次；也可以不写",
    f"其中没有方案，{COMMAND}。",
)


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("room", [20, 38, 60, 78])
def test_words_wrap_and_commands_stay_whole(said, room):
    """Commands that people copy are never broken."""
    lines = cells.wrap_prose(said, room)
    assert sum(COMMAND in line for line in lines) == 1
    spare = 2  # closing marks hug what they close
    assert all(cells.width(line) <= room + spare or COMMAND in line for line in lines)
    assert "".join(lines).replace(" ", "") == said.replace(" ", "")


def test_what_has_room_is_one_line():
    assert cells.wrap_prose(SAID[0], 200) == [SAID[0]]
    assert cells.wrap_prose(SAID[3], 200) == [SAID[3]]
