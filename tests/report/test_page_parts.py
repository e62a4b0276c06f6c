"""What every page is made of: parts that leave no trace where they are empty, and tables of records."""

from __future__ import annotations

import pytest

from rigright.base.page import Commands, Line, Page, Points, grouped, number, prose, records, table
from rigright.base.words import say


def test_what_is_missing_or_empty_leaves_no_trace():
    line, rest = Line.dim("kept"), (Line.bad("also"), None)
    page = Page.of("title", None, line, Points.of(()), Commands.next(()), rest, iter([Points.of(["one"])]))
    assert page.parts == (line, rest[0], Points(items=("one",)))
    assert page.tone == "plain"


@pytest.mark.parametrize("made", [Line.good, Line.warn, Line.bad, Line.dim])
def test_an_answer_gives_the_page_its_tone(made):
    assert Page.of(made("so"), tone="strong") == Page(title="so", parts=(), tone=made.__name__)


def test_a_long_list_says_how_many_are_left():
    assert Points.of("abc", most=3).items == ("a", "b", "c")
    assert Points.of("abcde", most=3).items == ("a", "b", "c", say("and {count} more", count=2))


def test_a_table_of_records_reads_each_cell_and_leaves_columns_out():
    rows = (("x", 1), ("y", 2))
    columns = (
        (prose("name"), lambda row: row[0]),
        (number("count"), lambda row: str(row[1])),
        ("never", None),
        ("empty", lambda _: ""),
    )
    made = records(rows, columns, tone=lambda row: "bad" if row[1] > 1 else "good")
    assert made == table((prose("name"), number("count"), "empty"), (("x", "1", ""), ("y", "2", "")),
                         tones=("good", "bad"))  # fmt: skip
    assert records(rows, columns, filled=True).columns == (prose("name"), number("count"))


def test_the_sum_of_a_table_stands_out():
    assert table(("", ""), (("a", "1"), ("b", "2"), ("total", "3")), totals=True).tones == (
        "plain", "plain", "strong",
    )  # fmt: skip


def test_what_is_alike_stands_once_with_all_of_its_own():
    assert grouped([("a", 1), ("b", 2), ("a", 3)]) == {"a": [1, 3], "b": [2]}
    assert list(grouped([("b", 1), ("a", 2)])) == ["b", "a"]
