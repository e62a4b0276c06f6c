"""Charts: quantities over time, where no peak is lost and no gap filled; curves and points on two axes."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.page import Curve, Page, Plot, Spot, Strip, Strips
from rigright.base.words import say
from rigright.report.charts import blocks, draw_chart, places, plot_axes, thinned
from rigright.report.formats.html import render
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


# curves and points, in characters and as a picture

PLAIN = Screen(width=60, unicode=False)


def roof(letter, peak, slope):
    return Curve(
        letter=letter,
        name=f"roof of {letter}",
        points=((1.0, slope), (peak / slope, peak), (1000.0, peak)),
    )


def plot(*curves, spots=()):
    return Plot(curves=curves, spots=tuple(spots), x_name="FLOP a byte", y_name="TFLOP/s")


ROOFS = plot(roof("A", 900, 3), roof("B", 90, 1), spots=[Spot(letter="a", name="here", x=10, y=30, curve=0)])


def rows(drawn):
    """The drawing alone: what stands right of its edge."""
    return [line.partition("|")[2] for line in drawn if "|" in line]


def test_a_roof_rises_and_then_is_flat():
    drawn = rows(draw_chart(plot(roof("A", 90, 1)), PLAIN))
    top = drawn[0]
    assert top.endswith("A")
    assert set(top.strip()) == {".", "A"}
    starts = [len(line) - len(line.lstrip()) for line in drawn if line.strip()]
    assert starts == sorted(starts, reverse=True)


def test_each_curve_ends_in_its_letter_and_the_higher_roof_stands_higher():
    drawn = rows(draw_chart(ROOFS, PLAIN))
    assert [line[-1] for line in drawn if line.endswith(("A", "B"))] == ["A", "B"]


def test_a_point_on_a_roof_stands_on_it():
    drawn = rows(draw_chart(ROOFS, PLAIN))
    (line,) = [line for line in drawn if "a" in line]
    assert re.search(r"\.a|a\.", line)


def test_the_legend_names_every_letter():
    drawn = draw_chart(ROOFS, PLAIN)
    assert drawn[-3:] == ["  A roof of A", "  B roof of B", "  a here"]


def test_ticks_are_powers_of_ten_where_they_stand():
    drawn = draw_chart(ROOFS, PLAIN)
    ticks = next(line for line in drawn if re.fullmatch(r"\s*1 +10 +100 +1000", line))
    places = [match.start() for match in re.finditer(r"1", ticks)]
    steps = [after - before for before, after in pairwise(places)]
    assert steps[0] == pytest.approx(steps[1], abs=1)


def test_braille_shows_what_dots_show():
    fine = draw_chart(ROOFS, Screen(width=60))
    assert any("\u2800" < letter <= "\u28ff" for line in fine for letter in line)
    assert len(fine) == len(draw_chart(ROOFS, PLAIN))


def test_nothing_to_draw_is_nothing():
    assert draw_chart(plot(), PLAIN) == []
    assert draw_chart(plot(Curve(letter="A", name="", points=((0.0, 1.0), (float("nan"), 2.0)))), PLAIN) == []


@given(st.lists(st.tuples(st.floats(1e-6, 1e15), st.floats(1e-6, 1e15)), min_size=1, max_size=6))
def test_every_point_lies_inside_the_axes(points):
    axes = plot_axes(plot(Curve(letter="A", name="", points=tuple(points))))
    for axis, values in zip(axes, zip(*points, strict=True), strict=True):
        assert axis.low - 1e-9 <= min(map(math.log10, values))
        assert max(map(math.log10, values)) <= axis.high + 1e-9
        assert [share for share, _ in axis.ticks] == sorted({share for share, _ in axis.ticks})


@given(st.floats(0.01, 100), st.floats(1.5, 50))
def test_equal_factors_are_equal_lengths(start, factor):
    points = tuple((start * factor**n, 1.0) for n in range(3))
    across = [x for x, _ in places(points, plot_axes(plot(Curve(letter="A", name="", points=points))))]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1])


def test_the_picture_holds_what_the_drawing_holds():
    written = render(Page(title="T", parts=(ROOFS,)), Screen())
    svg = ET.fromstring(re.search(r"<svg.*?</svg>", written, re.DOTALL).group(0))  # noqa: S314 - our own
    assert len(svg.findall("polyline")) == 2
    circle = svg.find("circle")
    first = svg.find("polyline").get("points").split()
    (left, bottom), (right, top) = (tuple(map(float, pair.split(","))) for pair in first[:2])
    x, y = float(circle.get("cx")), float(circle.get("cy"))
    assert bottom + (top - bottom) * (x - left) / (right - left) == pytest.approx(y, abs=0.2)


@pytest.mark.parametrize("letter", ["\u0301", "", "\u8868", "\u200b"])
def test_a_curve_without_a_letter_of_one_cell_is_a_star(letter):
    drawn = draw_chart(plot(roof(letter, 90, 1)), PLAIN)
    assert rows(drawn)[0].endswith("*")
    assert draw_chart(plot(roof("e\u0301", 90, 1)), PLAIN) != drawn
