from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base import tables
from rigright.base.errors import DataError, MissingError, RigError
from spoken import values

READERS = {"name": tables.text, "mem_gb": tables.scaled(1e9), "cores": tables.whole, "ecc": tables.yes}


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "chips.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_cells_become_values_and_empty_ones_none(write):
    path = write("name,mem_gb,cores,ecc\nA,80,10,y\nB,,,no\n")
    assert tables.read_rows(path, READERS) == [
        {"name": "A", "mem_gb": 80e9, "cores": 10, "ecc": True},
        {"name": "B", "mem_gb": None, "cores": None, "ecc": False},
    ]


def test_columns_nobody_reads_are_left_alone(write):
    assert tables.read_rows(write("name,else\nA,b\n"), {"name": tables.text}) == [{"name": "A"}]


@pytest.mark.parametrize(
    ("row", "column"), [("A,eighty,1,y", "mem_gb"), ("A,80,1.5,y", "cores"), ("A,80,1,perhaps", "ecc")]
)
def test_a_bad_cell_is_named_by_file_line_and_column(write, row, column):
    path = write(f"name,mem_gb,cores,ecc\nZ,1,1,n\n{row}\n")
    with pytest.raises(DataError) as caught:
        tables.read_rows(path, READERS)
    assert {"chips.csv", "3", column} <= set(str(caught.value).replace(",", "").replace(":", "").split())


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf", "1e999"])
def test_numbers_are_finite(write, cell):
    with pytest.raises(DataError):
        tables.read_rows(write(f"mem_gb\n{cell}\n"), {"mem_gb": tables.number})


def test_a_required_cell_may_not_be_empty(write):
    with pytest.raises(DataError, match="name"):
        tables.read_rows(write("name,cores\n,4\n"), {"name": tables.text}, required=("name",))


def test_a_missing_column_is_named(write):
    with pytest.raises(DataError, match="mem_gb"):
        tables.read_rows(write("name\nA\n"), {"name": tables.text, "mem_gb": tables.number})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingError, match=r"none\.csv"):
        tables.read_rows(tmp_path / "none.csv", READERS)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(DataError) as refused:
        tables.read_rows(tmp_path, READERS)
    assert values(refused.value.sentence)["file"] == str(tmp_path)


def test_a_table_may_not_be_endless(write, monkeypatch):
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 10)
    with pytest.raises(DataError) as refused:
        tables.read_rows(write("name\n" + "A\n" * 10), {"name": tables.text})
    assert values(refused.value.sentence).keys() == {"file", "limit"}


def test_quotes_line_ends_and_byte_marks_are_understood(write):
    path = write(b'\xef\xbb\xbfname,cores\r\n"a, b",4\r\n')
    assert tables.read_rows(path, {"name": tables.text, "cores": tables.whole}) == [
        {"name": "a, b", "cores": 4}
    ]


def test_lines_are_counted_as_an_editor_counts_them(write):
    path = write('name,cores\n"two\nlines",4\nB,x\n')
    with pytest.raises(DataError) as refused:
        tables.read_rows(path, {"name": tables.text, "cores": tables.whole})
    assert values(refused.value.sentence) == {"file": path.name, "line": "4", "column": "cores", "cell": "x"}


def test_a_row_longer_than_its_head_is_read_by_its_head(write):
    assert tables.read_rows(write("name\nA,b,c\n"), {"name": tables.text}) == [{"name": "A"}]


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_stumble(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("t") / "any.csv"
    path.write_bytes(content)
    try:
        rows, told = tables.read_rows(path, {"name": tables.text}), path.name
    except RigError as error:
        rows, told = [], str(error)
    assert "any.csv" in told
    assert all(set(row) == {"name"} for row in rows)


def test_toml_is_read_and_its_faults_told(tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text("a = 1\n")
    bad.write_text("a = \n")
    assert tables.read_toml(good) == {"a": 1}
    with pytest.raises(DataError, match=r"bad\.toml"):
        tables.read_toml(bad)
    with pytest.raises(MissingError):
        tables.read_toml(tmp_path / "none.toml")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_what_stands_between_cells_is_seen_in_the_head(mark):
    lines = [f"a{mark}b\n", f'1{mark}"2,5;6"\n']
    assert list(tables.open_rows(lines, "t", required=("a", "b"))) == [(2, {"a": "1", "b": "2,5;6"})]


def test_a_table_of_one_column_is_a_table():
    assert list(tables.open_rows(["a\n", "1\n"], "t", required=("a",))) == [(2, {"a": "1"})]
    assert list(tables.open_rows([], "t")) == []
