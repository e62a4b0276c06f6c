"""Files and JSON of strangers: deep, long, wide, not finite."""

from __future__ import annotations

import json

import pytest

from rigright.base import bounded
from rigright.base.bounded import TooDeepError, bounded_json, bounded_json_at
from rigright.base.errors import DataError
from rigright.base.files import read_bounded


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "9" * 5000])
def test_what_is_no_finite_number_is_unknown_and_the_rest_is_read(text):
    assert bounded_json(f'{{"bad": {text}, "good": 1.5, "whole": 7}}') == {
        "bad": None,
        "good": 1.5,
        "whole": 7,
    }


@pytest.mark.parametrize("text", ["[" * 300 + "]" * 300, '{"a":' * 200_000, "[" * 200_000])
def test_what_is_too_deep_is_refused(text):
    with pytest.raises(ValueError, match=r"nested deeper than 100|Expecting"):
        bounded_json(text)
    with pytest.raises(ValueError, match=r"nested deeper than 100|Expecting"):
        bounded_json_at(text, 0)


def test_the_depth_has_an_exact_end():
    def deep(n):
        return "[" * n + "]" * n

    assert bounded_json(deep(bounded.MOST_DEPTH))
    with pytest.raises(TooDeepError):
        bounded_json(deep(bounded.MOST_DEPTH + 1))


def test_many_short_lists_are_refused_before_they_take_memory():
    with pytest.raises(ValueError, match="500,000 lists"):
        bounded_json("[" + "[]," * bounded.MOST_CONTAINERS + "0]")


@pytest.mark.parametrize("raw", [b'\xef\xbb\xbf{"a": 1}', '\ufeff{"a": 1}', '{"a": 1}'.encode("utf-16")])
def test_a_mark_at_the_front_is_no_fault(raw):
    assert bounded_json(raw) == {"a": 1}


@pytest.mark.parametrize("raw", ["", b"\xff\xfe\xfd", "{", "[1,]", '"'])
def test_broken_text_is_a_value_error_and_nothing_else(raw):
    with pytest.raises(ValueError, match=r"\w"):
        bounded_json(raw)


def test_ordinary_json_is_what_json_says():
    thing = {"a": [1, -2, 3.25, 1e300, None, True, "x"], "b": {"c": 2**64}}
    assert bounded_json(json.dumps(thing)) == thing
    assert bounded_json_at("x" + json.dumps(thing) + "y", 1) == (thing, len(json.dumps(thing)) + 1)


def test_a_file_beyond_its_bounds_is_refused_and_one_within_is_read_whole(tmp_path):
    file = tmp_path / "digits"
    file.write_bytes(b"0123456789")
    assert read_bounded(file, 10) == b"0123456789"
    with pytest.raises(DataError):
        read_bounded(file, 9)
