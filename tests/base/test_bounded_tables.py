"""CSV and TOML of others: whatever the bytes are, rows or a reason, soon and in little memory."""

from __future__ import annotations

import time
import tracemalloc
from itertools import chain, repeat

import pytest

from rigright.base.bounded import MOST_COLUMNS, MOST_ROW_CHARS, bounded_csv, bounded_toml
from rigright.base.errors import DataError
from rigright.base.tables import open_rows
from spoken import values

FLOODS = {
    "columns": ",".join("x" * 3 for _ in range(MOST_COLUMNS + 1)) + "\n1\n",
    "a row without end": "a,b\n" + "," * (MOST_ROW_CHARS + 1) + "\n",
    "a row over many lines": "a,b\n" + 'x,"\n",' * (MOST_ROW_CHARS // 2),
    "a cell without end": "a,b\n" + '"' + "x" * 200_000,
    "a quote in a cell": 'a,b\n"x"y,1\n',
}


def lines_of(text):
    return text.splitlines(keepends=True)


@pytest.mark.parametrize("flood", FLOODS)
def test_a_table_beyond_its_bounds_is_refused_in_a_sentence(flood):
    with pytest.raises(DataError) as refused:
        list(open_rows(lines_of(FLOODS[flood]), "t.csv"))
    told = values(refused.value.sentence)
    assert told["file"] == "t.csv"
    assert told["why"]


def test_rows_are_counted_as_they_are_read():
    read = bounded_csv(chain(["a,b\n"], repeat("1,2\n")), most_rows=5)
    assert [cells for _, cells in (next(read) for _ in range(6))] == [["a", "b"], *[["1", "2"]] * 5]
    with pytest.raises(ValueError, match="more than 5 rows"):
        next(read)


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_table_of_any_office_is_read(between):
    text = f"a{between}b\n1{between}\n\n2{between}3\n"
    assert list(open_rows(lines_of(text), "t")) == [(2, {"a": "1", "b": ""}), (4, {"a": "2", "b": "3"})]


TOMLS = {
    "many parts": "a." * 200_000 + "b = 1\n",
    "many parts with spaces": "a . " * 200_000 + "b = 1\n",
    "many parts inside": "x = {" + "a." * 200_000 + "b = 1}\n",
    "tables of many parts": "[" + "a." * 200_000 + "b]\n",
    "lists in lists": "x = " + "[" * 50_000,
    "digits": "x = " + "9" * 4000 + "\n",
    "more digits": "x = " + "9" * 100_000 + "\n",
    "no table": "\ufeff\x00",
}


@pytest.mark.parametrize("name", TOMLS)
def test_toml_beyond_its_bounds_is_refused_soon(name):
    began_s = time.process_time()
    with pytest.raises(ValueError, match=r"\w"):
        bounded_toml(TOMLS[name])
    assert time.process_time() - began_s < 2


def test_what_is_no_finite_number_in_toml_is_unknown():
    read = bounded_toml("a = inf\nb = nan\nc = 1e999\nd = 1.5\ne = [0.1, 0.2]\n")
    assert read == {"a": None, "b": None, "c": None, "d": 1.5, "e": [0.1, 0.2]}


def test_a_long_table_is_read_in_the_memory_of_a_row():
    tracemalloc.start()
    try:
        count = sum(1 for _ in bounded_csv(chain(["a,b,c\n"], repeat("1,2,3\n", 100_000))))
        assert count == 100_001
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_the_head_of_a_table_put_behind_another_is_no_row():
    found = list(bounded_csv(lines_of("a,b\n1,2\na,b\n3,4\na,b,c\n")))
    assert found == [(1, ["a", "b"]), (2, ["1", "2"]), (4, ["3", "4"]), (5, ["a", "b", "c"])]
