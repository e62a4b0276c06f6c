"""Any page at all, for property tests of the formats."""

from __future__ import annotations

from hypothesis import strategies as st

from rigright.base.page import (
    Bar,
    Bars,
    Column,
    Commands,
    Curve,
    Line,
    Page,
    Piece,
    Plot,
    Points,
    Spot,
    Strip,
    Strips,
    Table,
)
from rigright.base.words import say
from rigright.report.screen import Screen

LETTERS = "abcXYZ 019-_.,:|<>&`*[]\\#'\"$%{}()！，。显存模型权重（）“”é́😀\u202e\x1b\t\n"
texts = st.text(alphabet=LETTERS, max_size=30)
shown = texts | texts.map(lambda text: say("no such file: {file}", file=text))
tones = st.sampled_from(["plain", "good", "warn", "bad", "dim", "strong"])
titles = st.none() | shown
lines = st.builds(Line, text=shown, tone=tones)


@st.composite
def tables(draw):
    columns = draw(
        st.lists(
            st.builds(Column, head=shown, right=st.booleans(), flexible=st.booleans()), min_size=1, max_size=6
        )
    )
    row = st.tuples(*[shown] * len(columns))
    rows = draw(st.lists(row, min_size=1, max_size=5))
    toned = draw(st.booleans())
    return Table(
        columns=tuple(columns),
        rows=tuple(rows),
        title=draw(titles),
        tones=tuple(draw(tones) for _ in rows) if toned else (),
    )


sizes = st.floats(0, 1e12) | st.just(float("nan")) | st.just(0.0)
pieces = st.builds(Piece, name=shown, size=sizes, shown=texts)
bars = st.builds(
    Bar, label=shown, pieces=st.lists(pieces, max_size=9).map(tuple), limit=st.floats(0, 1e12), shown=texts
)
figures = st.floats(1e-9, 1e18) | st.sampled_from([0.0, -1.0, float("nan"), float("inf")])
curves = st.builds(
    Curve, letter=texts, name=shown, points=st.lists(st.tuples(figures, figures), max_size=4).map(tuple)
)
spots = st.builds(Spot, letter=texts, name=shown, x=figures, y=figures, curve=st.integers(0, 9))
strips = st.builds(
    Strip,
    label=shown,
    values=st.lists(st.none() | figures, max_size=200).map(tuple),
    shown=shown,
    high=st.none() | figures,
)
parts = st.one_of(
    lines,
    tables(),
    st.builds(Bars, bars=st.lists(bars, max_size=4).map(tuple), title=titles),
    st.builds(Points, items=st.lists(shown, max_size=4).map(tuple), title=titles, tone=tones),
    st.builds(
        Plot,
        curves=st.lists(curves, max_size=3).map(tuple),
        spots=st.lists(spots, max_size=3).map(tuple),
        x_name=shown,
        y_name=shown,
        title=titles,
    ),
    st.builds(Strips, strips=st.lists(strips, max_size=3).map(tuple), title=titles, span=titles),
    st.builds(Commands, items=st.lists(texts, max_size=3).map(tuple), title=titles),
)
pages = st.builds(Page, title=shown, parts=st.lists(parts, max_size=5).map(tuple))
screens = st.builds(
    Screen,
    width=st.integers(20, 160),
    colour=st.booleans(),
    unicode=st.booleans(),
    language=st.sampled_from(["en", "zh"]),
)
