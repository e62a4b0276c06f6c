"""A hint is looked for when somebody reads it, and travels with its error."""

from __future__ import annotations

import pickle

import pytest

from rigright.base.errors import AskError, unknown
from rigright.base.words import say


def test_what_is_near_is_looked_for_once_and_only_where_it_is_read():
    looked = []

    def near():
        looked.append(1)
        return ["RTX 4090"]

    error = unknown(say("GPU"), "rtx 4900", near=near)
    assert str(error)
    assert not looked
    assert "RTX 4090" in str(error.hint)
    assert error.hint is error.hint
    assert looked == [1]


def test_a_hint_travels_and_stands_in_a_traceback():
    error = unknown(say("GPU"), "rtx 4900", near=lambda: ["RTX 4090"])
    there = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(there), str(there), str(there.hint)) == (AskError, str(error), str(error.hint))
    assert there.__notes__ == [str(error.hint)]


def test_an_error_without_a_hint_has_no_notes_until_one_is_added():
    error = AskError(say("no"))
    assert error.hint is None
    with pytest.raises(AttributeError):
        _ = error.__notes__
    error.add_note("later")
    assert error.__notes__ == ["later"]
