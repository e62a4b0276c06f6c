from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base import units
from rigright.base.errors import AskError


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("80GB", 80e9),
        ("80 GB", 80e9),
        ("24GiB", 24 * 2**30),
        ("24 gib", 24 * 2**30),
        ("512MiB", 512 * 2**20),
        ("1.5 TiB", 1.5 * 2**40),
        ("2tb", 2e12),
        ("64k", 64e3),
        ("4096", 4096),
        ("4096 bytes", 4096),
        ("17B", 17),
        (" 0.5 G ", 0.5e9),
        ("1e3MB", 1e9),
    ],
)
def test_sizes_are_read(text, size_bytes):
    assert units.parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    "text",
    ["", "GB", "-1GB", "1.2.3GB", "80 GBps", "nan", "inf", "1e999", "八十GB", "8x", "1e400 GB", "1 000"],
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(AskError, match="as a size"):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "count"), [("4096", 4096), ("4k", 4096), ("128Ki", 131072), ("1M", 1048576), ("0.5k", 512)]
)
def test_counts_are_read(text, count):
    assert units.parse_count(text) == count


@pytest.mark.parametrize("text", ["", "4.5", "-4", "4g", "nan", "1e400", "four"])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(AskError, match="as a count"):
        units.parse_count(text)


@given(st.text(max_size=40))
def test_no_text_makes_either_reader_stumble(text):
    for read in (units.parse_bytes, units.parse_count):
        with contextlib.suppress(AskError):
            assert math.isfinite(read(text))


@given(st.integers(0, 2**50))
def test_whole_bytes_are_read_back(size_bytes):
    assert units.parse_bytes(str(size_bytes)) == size_bytes
    assert units.parse_count(str(size_bytes)) == size_bytes


@given(st.floats(1, 1e18))
def test_what_is_shown_is_near_what_it_is(size_bytes):
    shown = units.show_bytes(size_bytes).replace(",", "")
    assert units.parse_bytes(shown) == pytest.approx(size_bytes, rel=0.005, abs=0.5)


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (2**10, "1.00 KiB"), (16.06 * 2**30, "16.1 GiB"), (-(2**30), "-1.00 GiB")],
)
def test_sizes_are_shown_with_three_digits(size_bytes, shown):
    assert units.show_bytes(size_bytes) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(8_030_261_248, "8.03 B"), (131072, "131,072"), (1.5e12, "1.50 T"), (345e6, "345 M"), (0, "0")],
)
def test_counts_are_shown_as_people_say_them(number, shown):
    assert units.show_count(number) == shown


@given(st.floats(0, 1e15))
def test_gib_there_and_back(size_gib):
    assert units.to_gib(units.from_gib(size_gib)) == size_gib
