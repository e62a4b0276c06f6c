"""Quantities over time: no peak is lost, no gap is filled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rigright.base.page import Strip, Strips
from rigright.base.words import say
from rigright.report.charts import blocks, draw_chart, thinned
from rigright.report.screen import Screen, width

values = st.lists(st.none() | st.floats(0, 1e12), max_size=400).map(tuple)


def strip(values, **more):
    return Strip(label="GPU 0", values=values, shown="41 GiB", **more)


def test_a_line_a_quantity_and_its_time_below():
    shown = Strips(strips=(strip((0, 1, 2, 4)), strip((None, 4.0))), span=say("timed out"))
    first, second, span = draw_chart(shown, Screen(width=80))
    assert first.startswith("GPU 0  ▁▂▄█")
    assert first.endswith("41 GiB")
    assert second.startswith("GPU 0   █")
    assert span == str(shown.span)


def test_zero_is_drawn_and_unknown_is_not():
    assert blocks(strip((0.0, None, 1.0)), 10, screen=Screen()) == "▁ █"
    assert blocks(strip((0.0, None, 1.0)), 10, screen=Screen(unicode=False)) == ". #"


def test_against_a_stated_top_a_low_load_stays_low():
    assert blocks(strip((0.1, 0.1), high=1.0), 10, screen=Screen()) == "▁▁"


def test_on_a_narrow_screen_the_picture_stands_below():
    lines = draw_chart(Strips(strips=(strip(tuple(range(100))),)), Screen(width=24))
    assert lines[0] == "GPU 0: 41 GiB"
    assert len(lines[1]) == 24


@given(values=values, room=st.integers(1, 100))
def test_thinning_keeps_the_highest_and_the_order(values, room):
    thin = thinned(values, room)
    assert len(thin) == min(len(values), room)
    seen = [value for value in values if value is not None]
    assert max((value for value in thin if value is not None), default=None) == max(seen, default=None)
    assert [one for one in thin if one is not None] == [
        one for one in thin if one in values and one is not None
    ]


@given(values=values, wide=st.integers(20, 160), unicode=st.booleans())
def test_no_line_is_wider_than_the_screen(values, wide, unicode):
    screen = Screen(width=wide, unicode=unicode)
    assert all(width(line) <= wide for line in draw_chart(Strips(strips=(strip(values),)), screen))
