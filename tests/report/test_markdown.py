from __future__ import annotations

import pytest
from anypage import pages, screens
from hypothesis import given

from rigright.base.page import Bar, Bars, Column, Commands, Line, Page, Piece, Table
from rigright.report.formats.markdown import escape, render
from rigright.report.screen import Screen


@given(pages, screens)
def test_any_page_can_be_written_and_looks_alike_on_any_screen(page, screen):
    written = render(page, screen)
    assert written.startswith("# ")
    assert "\x1b" not in written
    assert written == render(page, Screen(language=screen.language, unicode=screen.unicode))


@given(pages)
def test_every_row_of_a_table_has_all_its_cells(page):
    tables = [part for part in page.parts if isinstance(part, Table)]
    written = render(Page(title="", parts=tuple(tables)), Screen())
    rows = [
        line.replace("\\\\", "").replace("\\|", "") for line in written.splitlines() if line.startswith("|")
    ]
    wanted = [len(table.columns) + 1 for table in tables for _ in range(len(table.rows) + 2)]
    assert [row.count("|") for row in rows] == wanted


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<b>", r"\<b\>"),
        ("a|b", r"a\|b"),
        ("*x*", r"\*x\*"),
        ("look_up", "look_up"),
        ("_x_", r"\_x\_"),
        ("8.20 GiB", "8.20 GiB"),
        ("-3", "-3"),
        ("[a](b)", r"\[a\](b)"),
        ("&lt;", r"\&lt;"),
    ],
)
def test_text_is_shown_as_it_is(text, escaped):
    assert escape(text) == escaped


@pytest.mark.parametrize("text", ["# no heading", "- no point", "1. no list", "+ no point", "---", "==="])
def test_a_sentence_opens_no_block_by_accident(text):
    written = render(Page(title="T", parts=(Line(text=text),)), Screen())
    assert f"\n{text}" not in written
    assert written.replace("\\", "").endswith(f"\n{text}\n")


def test_a_table_a_bar_and_a_command():
    piece = Piece(name="weights", size=1, shown="1 GiB")
    page = Page(
        title="T",
        parts=(
            Table(
                columns=(Column(head="a"), Column(head="b", right=True)), rows=(("x", "1"),), title="Parts"
            ),
            Bars(bars=(Bar(label="GPU", pieces=(piece,), limit=2, shown="1 of 2"),)),
            Commands(items=("rigright fit",)),
            Line(text="it fits", tone="good"),
        ),
    )
    assert render(page, Screen(unicode=False)) == (
        "# T\n\n## Parts\n\n| a | b |\n| --- | ---: |\n| x | 1 |\n\n"
        f"```text\nGPU  {'#' * 28}{'.' * 28}|  1 of 2\n     # weights 1 GiB\n```\n\n"
        "```sh\nrigright fit\n```\n\n\\[ok\\] it fits\n"
    )


def test_a_code_block_cannot_be_closed_from_inside():
    written = render(Page(title="T", parts=(Commands(items=("``` # x",)),)), Screen())
    assert written.count("```") == 2
