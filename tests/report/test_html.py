from __future__ import annotations

from html.parser import HTMLParser

from anypage import pages, screens
from hypothesis import given

from rigright.base.page import Bar, Bars, Line, Page, Piece, Table
from rigright.report.formats.html import render
from rigright.report.screen import Screen

EMPTY = {"meta", "link", "br"}


class Reader(HTMLParser):
    """Follows a document and notes what stands where."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in {"src", "href", "onclick"}]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(page, screen):
    reader = Reader()
    reader.feed(render(page, screen))
    reader.close()
    assert reader.open == []
    return reader


OURS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "h1",
    "h2",
    "p",
    "table",
    "tr",
    "th",
    "td",
    "div",
    "span",
    "i",
    "ul",
    "li",
    "pre",
    "b",
    "svg",
    "path",
    "text",
    "polyline",
    "circle",
}


@given(pages, screens)
def test_any_page_is_a_whole_document_of_our_own_tags_only(page, screen):
    reader = read(page, screen)
    assert set(reader.seen) <= OURS
    assert reader.links == []


@given(pages)
def test_nothing_is_left_out(page):
    reader = read(page, Screen())
    rows = sum(len(part.rows) + 1 for part in page.parts if isinstance(part, Table))
    assert reader.seen.count("tr") == rows


def test_foreign_names_are_escaped():
    evil = "<script>alert(1)</script>\"'&"
    piece = Piece(name=evil, size=1, shown=evil)
    bars = Bars(bars=(Bar(label=evil, pieces=(piece,), limit=1, shown=evil),), title=evil)
    written = render(Page(title=evil, parts=(Line(text=evil), bars)), Screen())
    assert "<script" not in written
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;" in written


def test_it_stands_alone_and_says_its_language():
    written = render(Page(title="T", parts=()), Screen(language="zh"))
    assert '<html lang="zh-Hans">' in written
    assert "@import" not in written
    assert "url(" not in written


def test_a_bar_over_its_limit_is_marked():
    piece = Piece(name="weights", size=30, shown="30 GiB")
    bars = Bars(bars=(Bar(label="GPU", pieces=(piece,), limit=24, shown="30 of 24 GiB"),))
    written = render(Page(title="T", parts=(bars,)), Screen())
    assert '<span class="bad">30 of 24 GiB</span>' in written
    assert "left:calc(80.00%" in written
