"""The first table of a page for a spreadsheet."""

from __future__ import annotations

import csv
import io

import pytest
from anypage import pages, screens
from hypothesis import given

from rigright.base.errors import AskError
from rigright.base.page import Column, Line, Page, Table
from rigright.base.words import clean, tell
from rigright.report.formats.csv import render
from rigright.report.screen import Screen


def page(*rows, heads=("model", "GiB")):
    columns = tuple(Column(head=head) for head in heads)
    return Page(title="T", parts=(Line(text="first"), Table(columns=columns, rows=rows)))


def test_a_table_is_lines_of_cells():
    written = render(page(("llama, the third", "14.96")), Screen())
    assert written == 'model,GiB\n"llama, the third",14.96\n'


def test_only_the_first_table_is_written():
    both = Page(title="T", parts=(*page(("a", "1")).parts, *page(("b", "2")).parts))
    assert render(both, Screen()) == "model,GiB\na,1\n"


@pytest.mark.parametrize("evil", ["=1+1", "+cmd", "@SUM(A1)", "-2+3"])
def test_a_foreign_name_is_no_formula(evil):
    (_, row) = csv.reader(io.StringIO(render(page((evil, "1")), Screen())))
    assert row[0] == f"'{evil}"


def test_a_number_below_zero_stays_a_number():
    assert render(page(("a", "-3.5")), Screen()).endswith("a,-3.5\n")


def test_a_table_without_heads_is_a_list_for_eyes_and_passed_over():
    both = Page(title="T", parts=(*page(("CPU", "2 cores"), heads=("", "")).parts, *page(("b", "2")).parts))
    assert render(both, Screen()) == "model,GiB\nb,2\n"


def test_a_page_without_a_table_says_what_to_ask_instead():
    with pytest.raises(AskError, match="--json"):
        render(Page(title="T", parts=(Line(text="alone"),)), Screen())


@given(pages, screens)
def test_every_cell_comes_back(written, screen):
    tables = [part for part in written.parts if isinstance(part, Table)]
    headed = (one for one in tables if any(column.head for column in one.columns))
    table = next(headed, tables[0] if tables else None)
    if table is None:
        return
    read = list(csv.reader(io.StringIO(render(written, screen))))
    told = [[clean(tell(cell, screen.language)) for cell in row] for row in table.rows]
    assert [bare(row) for row in read[1:]] == [bare(row) for row in told]


def bare(row):
    """Cells without the mark that keeps them from being formulas."""
    return [cell.lstrip("'") for cell in row]
