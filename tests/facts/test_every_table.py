"""Every CSV of data/: rows of one width, no row twice, a source with a date."""

from __future__ import annotations

import csv
import re
from datetime import date
from itertools import pairwise

import pytest

from rigright.base.tables import DATA, read_toml
from rigright.facts.prices import dated

TABLES = sorted(path.relative_to(DATA).as_posix() for path in DATA.rglob("*.csv"))
TODAY = date(2026, 11, 23)
KEYS = {  # what tells rows apart, where it is not the first column
    "torch.csv": ("torch", "build"),
    "engine_needs.csv": ("name", "version", "pip"),
    "driver_packages.csv": ("os", "versions", "repo"),
    "bench_expected.csv": ("part", "what", "kind", "from_mib"),
    "arm_cores.csv": ("implementer", "part"),
    "messages.csv": ("kind", "pattern"),
    "readings.csv": ("reading", "call", "given"),
    "prices.csv": ("chip", "mem_gib", "kind", "currency", "as_of", "typical", "source"),
    "xids.csv": ("code",),
}
NAMED = {  # tables of names and patterns: their source is the program whose words they are
    *("nvidia_smi.csv", "amd_smi.csv", "readings.csv", "metrics.csv", "check_groups.csv", "chip_words.csv"),
    *("chip_aliases.csv", "model_aliases.csv"),
}


def rows_of(table):
    with (DATA / table).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_as_wide_as_the_head_and_trimmed(table):
    head, *rows = rows_of(table)
    assert len(set(head)) == len(head), "a column stands twice"
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in head), head
    for place, row in enumerate(rows, 2):
        assert len(row) == len(head), (table, place)
        assert all(cell == cell.strip() for cell in row), (table, place)
        assert not any("\t" in cell or "\u00a0" in cell or "\r" in cell for cell in row), (table, place)


@pytest.mark.parametrize("table", TABLES)
def test_no_row_stands_twice(table):
    head, *rows = rows_of(table)
    key = KEYS.get(table)
    places = [head.index(name) for name in key] if key else range(len(head))
    seen = [tuple(row[place] for place in places) for row in rows]
    assert len(set(seen)) == len(seen), [one for one in seen if seen.count(one) > 1][:3]


@pytest.mark.parametrize("table", TABLES)
def test_a_source_has_a_date_that_is_past(table):
    head, *rows = rows_of(table)
    if "as_of" not in head or not {"source", "sources"} & set(head):
        return
    source, day = head.index("source" if "source" in head else "sources"), head.index("as_of")
    for place, row in enumerate(rows, 2):
        assert len(row[source]) > 5, (table, place)
        if row[day]:
            assert re.fullmatch(r"20[012]\d(?:-\d\d(?:-\d\d)?)?", row[day]), (table, place)
            assert dated(row[day]) <= TODAY, (table, place)


@pytest.mark.parametrize("table", TABLES)
def test_confidence_is_one_of_three_words_and_what_is_recalled_is_never_sure_of_a_price(table):
    head, *rows = rows_of(table)
    if "confidence" not in head:
        return
    at = head.index("confidence")
    assert {row[at] for row in rows} <= {"high", "med", "low", ""}
    if table == "parts.csv":
        assert {row[at] for row in rows} == {"low"}, "street prices are recalled"


def test_tables_without_a_source_are_known():
    without = {table for table in TABLES if not {"source", "sources", "as_of"} & set(rows_of(table)[0])}
    own = {table for table in without if "/" not in table and not table.startswith(("gguf", "safetensors"))}
    assert NAMED & own <= own
    about = read_toml(DATA / "about.toml")
    assert all(len(about.get(table, "")) > 20 for table in own if table != "measured_serving.csv")


def test_every_table_is_told_of_once():
    about = read_toml(DATA / "about.toml")
    assert {name for name in about if name.endswith(".csv")} == set(TABLES) & set(about)
    assert [name for name in about if not (DATA / name).is_file()] == []


@pytest.mark.parametrize("table", TABLES)
def test_no_cell_names_a_place_of_this_workplace(table):
    text = (DATA / table).read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w/])/(?:tmp|work|home|root)/", text)
    assert not re.search(r"\b(?:T[O]DO|F[I]XME|X{3}|TBD)\b", text)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("torch.csv", "torch"),
        ("tensorflow.csv", "tensorflow"),
        ("cuda.csv", "cuda"),
        ("driver_branches.csv", "branch"),
    ],
)
def test_versions_stand_newest_first(table, column):
    head, *rows = rows_of(table)
    at = head.index(column)
    told = [tuple(int(part) for part in re.findall(r"\d+", row[at])) for row in rows]
    assert all(newer >= older for newer, older in pairwise(told)), table
