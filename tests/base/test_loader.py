"""Tables read into records, by what their fields are called and annotated with."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from rigright.base import loader
from rigright.base.errors import DataError, MissingError
from rigright.base.record import dataclass
from rigright.base.words import Sentence
from spoken import values


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a machine."""

    name: str
    mem_bytes: float
    base_hz: float | None
    bytes_per_s: float = 0.0
    cores: int | None
    ecc: bool = False
    lanes: tuple[int, ...] = ()
    words: frozenset[str] = frozenset()
    kind: Literal["card", "board"] = "card"
    meaning: Annotated[Sentence | None, "says"] = None
    total: float = 1.5  # no table has it


HEAD = "name,mem_gib,base_ghz,gbit_per_s,cores,ecc,lanes,words,kind,says,remark\n"


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.setattr(loader, "DATA", tmp_path)

    def read(text, **more):
        (tmp_path / "parts.csv").write_text(text, encoding="utf-8")
        return loader.records("parts.csv", Part, **more)

    return read


def test_a_field_is_read_by_its_name_and_annotation(read):
    full, bare = read(f"{HEAD}A,80,2.5,400,10,y,16 8,b a,board,it hums,x\nB,1,,,,,,,,,\n")
    assert full == Part(
        name="A", mem_bytes=80 * 2**30, base_hz=2.5e9, bytes_per_s=50e9, cores=10, ecc=True, lanes=(16, 8),
        words=frozenset("ab"), kind="board", meaning=Sentence("it hums"),
    )  # fmt: skip
    assert bare == Part(name="B", mem_bytes=2**30, base_hz=None, cores=None)


def test_a_reader_for_a_field_or_for_a_type_goes_before(read):
    one = read(
        f"{HEAD}A,80,,,1f,,3,,,,\n", read={"cores": lambda cell: int(cell, 16), "tuple[int, ...]": list}
    )[0]
    assert (one.cores, one.lanes) == (31, ["3"])


@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [
        ("A,eighty,,,,,,,,,", "mem_gib", "eighty"),
        ("A,inf,,,,,,,,,", "mem_gib", "inf"),
        ("A,1,,,1.5,,,,,,", "cores", "1.5"),
        ("A,1,,,,perhaps,,,,,", "ecc", "perhaps"),
        ("A,1,,,,,8 x,,,,", "lanes", "8 x"),
        ("A,1,,,,,,,lamp,,", "kind", "lamp"),
        (",1,,,,,,,,,", "name", ""),
        ("A,,,,,,,,,,", "mem_gib", ""),
    ],
)
def test_a_bad_cell_is_named_by_file_line_and_column(read, row, column, cell):
    with pytest.raises(DataError) as refused:
        read(f"{HEAD}Z,1,,,,,,,,,\n{row}\n")
    told = {"file": "parts.csv", "line": "3", "column": column, "cell": cell}
    assert values(refused.value.sentence) == told


def test_what_no_column_holds_is_a_default_or_an_error(read):
    (one,) = read("name,mem_mib,base_ghz,cores\nA,1024,,\n")
    assert (one.mem_bytes, one.total, one.lanes) == (2**30, 1.5, ())
    with pytest.raises(DataError) as refused:
        read("name,base_ghz,cores\nA,1,1\n")
    assert values(refused.value.sentence) == {"file": "parts.csv", "column": "mem_bytes"}


def test_a_torn_table_is_read_line_by_line_and_a_missing_one_named(read):
    (one,) = read('name,mem_gib,base_ghz,cores\n"A, b",1\n')
    assert (one.name, one.cores) == ("A, b", None)
    with pytest.raises(MissingError, match=r"none\.csv"):
        loader.records("none.csv", Part)


def test_texts_of_columns_row_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr(loader, "DATA", tmp_path)
    (tmp_path / "parts.csv").write_text("name,says\nA,x\nB,\n", encoding="utf-8")
    assert loader.rows("parts.csv", "says", "name") == [("x", "A"), ("", "B")]
    with pytest.raises(DataError, match="else"):
        loader.rows("parts.csv", "else")


def test_an_annotation_that_nothing_reads_is_a_fault_of_ours():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Odd:
        name: complex

    with pytest.raises(TypeError, match="complex"):
        loader._values(("1",), loader._fields("x", Odd, heads=("name",))[0], read={})
