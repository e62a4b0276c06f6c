from __future__ import annotations

import json
from enum import StrEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.plain import _STEERS, dumps, settle
from rigright.base.words import say, tell

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


MISSING = say("no such file: {file}", file="x")


class Cut(StrEnum):
    OUT = "out"


def refuse(name):
    raise AssertionError(f"{name} is no JSON")


@given(DATA)
def test_it_is_always_json_that_any_reader_takes(data):
    json.loads(dumps(data, "en"), parse_constant=refuse)


@given(DATA)
def test_it_is_laid_out_as_the_standard_encoder_does(data):
    standard = json.dumps(settle(data, "en"), ensure_ascii=False, indent=2)
    steers = {place: f"\\u{place:04x}" for place in map(ord, _STEERS.findall(standard))}
    assert dumps(data, "en") == standard.translate(steers)


@given(st.lists(st.text(max_size=4), unique=True, max_size=6))
def test_the_order_is_kept(names):
    assert list(json.loads(dumps(dict.fromkeys(names, 1), "en"))) == names


@pytest.mark.parametrize(
    ("thing", "written"),
    [
        (float("nan"), "null"),
        (float("inf"), "null"),
        (np.float64("nan"), "null"),
        (np.int64(3), "3"),
        (np.float64(0.5), "0.5"),
        (Cut.OUT, '"out"'),
        ("显存", '"显存"'),
        (MISSING, f'"{tell(MISSING, "zh")}"'),
    ],
)
def test_values_of_the_code_become_values_of_json(thing, written):
    assert dumps(thing, "zh") == written


def test_figures_that_differ_in_what_only_a_processor_decides_are_told_alike():
    assert dumps(2874.1649555099248, "en") == dumps(2874.1649555099243, "en") == "2874.16495551"
    assert dumps([2**53 + 0.0, 1 / 3], "en") == "[\n  9007199254740992.0,\n  0.333333333333\n]"


def test_arrays_become_lists_and_their_holes_null():
    assert json.loads(dumps({"a": np.array([1.0, np.nan])}, "en")) == {"a": [1.0, None]}


def test_what_json_cannot_say_is_our_mistake_and_not_hidden():
    with pytest.raises(TypeError):
        dumps({"a": object()}, "en")


def test_nothing_in_it_steers_a_terminal():
    written = dumps({"name": "a\x9b31m\x7f\u202eb\u2028"}, "en")
    assert written.isascii()
    assert json.loads(written) == {"name": "a\x9b31m\x7f\u202eb\u2028"}
