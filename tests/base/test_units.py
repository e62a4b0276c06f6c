from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base import units
from rigright.base.errors import AskError
from spoken import values


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
    with pytest.raises(AskError) as refused:
        units.parse_bytes(text)
    assert values(refused.value.sentence) == {"text": text}


@pytest.mark.parametrize(
    ("text", "count"), [("4096", 4096), ("4k", 4096), ("128Ki", 131072), ("1M", 1048576), ("0.5k", 512)]
)
def test_counts_are_read(text, count):
    assert units.parse_count(text) == count


@pytest.mark.parametrize("text", ["", "4.5", "-4", "4g", "nan", "1e400", "four"])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(AskError) as refused:
        units.parse_count(text)
    assert values(refused.value.sentence) == {"text": text}


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


PERIODS_S = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (units.parse_seconds, "1s", 1),
        (units.parse_seconds, "50ms", 0.05),
        (units.parse_seconds, "0.5", 0.5),
        (units.parse_seconds, "2min", 120),
        (units.parse_seconds, "14d", 14 * 86400),
        (units.parse_watts, "800", 800),
        (units.parse_watts, "1.5kW", 1500),
        (units.parse_watts, "2 MW", 2e6),
        (units.parse_amount, "10B", 1e10),
        (units.parse_amount, "500k", 5e5),
        (units.parse_rate, "5", 5),
        (units.parse_rate, "300/min", 5),
        (units.parse_rate, "7.2k/h", 2),
        *((units.parse_rate, f"9/{unit}", 9 / length_s) for unit, length_s in PERIODS_S.items()),
        (units.parse_factor, "2x", 2),
        (units.parse_factor, "+50%", 1.5),
        (units.parse_factor, "1.25", 1.25),
        (units.parse_share, "90%", 0.9),
        (units.parse_share, "0.95", 0.95),
    ],
)
def test_figures_with_units_are_read(read, text, value):
    assert read(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((units.parse_seconds, text) for text in ("", "fast", "1 week", "-1s", "0ms", "1e999s")),
        *((units.parse_watts, text) for text in ("", "1.5 horses", "0", "-3W")),
        *((units.parse_rate, text) for text in ("5/fortnight", "x/s", "/s")),
        *((units.parse_factor, text) for text in ("twice", "0x", "-2x")),
        *((units.parse_amount, text) for text in ("many", "10Q", "nan", "0")),
        *((units.parse_share, text) for text in ("most", "-1", "50 %%")),
    ],
)
def test_what_is_no_such_figure_is_refused_with_an_example(read, text):
    with pytest.raises(AskError) as refused:
        read(text)
    assert text.startswith(values(refused.value.sentence)["text"])
    assert values(refused.value.hint)["example"]


@pytest.mark.parametrize(
    ("show", "value", "shown"),
    [
        (units.show_seconds, 0.0123, "12 ms"),
        (units.show_seconds, 0.00042, "0.42 ms"),
        (units.show_seconds, 1.42, "1.4 s"),
        (units.show_seconds, 60, "60 s"),
        (units.show_seconds, 600, "10 min"),
        (units.show_seconds, 7200, "2.0 h"),
        (units.show_seconds, 3.2 * 86400, "3.2 d"),
        (units.show_watts, 450.4, "450 W"),
        (units.show_watts, 5612, "5.6 kW"),
        (units.show_short, 8421.7, "8,420"),
        (units.show_short, 41.23, "41"),
        (units.show_short, 4.123, "4.1"),
        (units.show_short, 0.0351, "0.035"),
        (units.show_short, 0, "0"),
        (units.show_short, math.nan, "-"),
    ],
)
def test_figures_are_shown_with_as_many_digits_as_are_known(show, value, shown):
    assert show(value) == shown


@given(st.floats(1e-6, 1e15))
def test_what_is_shown_short_is_within_five_percent(number):
    assert float(units.show_short(number).replace(",", "")) == pytest.approx(number, rel=0.051)


@given(st.floats(1e-3, 1e6))
def test_a_time_written_out_is_read_back(time_s):
    assert units.parse_seconds(f"{time_s * 1000} ms") == pytest.approx(time_s)
