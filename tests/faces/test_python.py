"""The verbs as functions of the package."""

from __future__ import annotations

import importlib

import pytest

import rigright
from rigright.base import shelf

VERBS = shelf.names("rigright.faces.cli.asks")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_the_command_line_is_a_function(verb):
    function = getattr(rigright, verb)
    assert callable(function)
    assert function.__doc__
    assert function.__module__.startswith(f"rigright.verbs.{verb}")


def test_a_room_of_the_same_name_does_not_hide_the_verb():
    importlib.import_module("rigright.doctor.examine")
    assert rigright.doctor.__module__ == "rigright.verbs.doctor.frame"
    assert importlib.import_module("rigright.doctor").__doc__.startswith("Whether a machine is healthy")


def test_the_package_tells_what_it_has():
    assert set(dir(rigright)) == {"__version__", *VERBS}


def test_what_is_not_there_is_an_attribute_error_that_says_what_is():
    with pytest.raises(AttributeError, match="explain"):
        rigright.explian  # noqa: B018 - reading it is the test
    assert not hasattr(rigright, "__wrapped__")


def test_a_verb_answers():
    answer = rigright.explain("llama-3.1-8b", "rtx 4090")
    assert "Llama-3.1-8B" in answer.model
