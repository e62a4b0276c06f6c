"""`--reworded`: every English sentence is spelt otherwise, so that a test that hangs on its letters fails.

A better word is then a change of one place: of all tests only the golden pages may fail in this run. Values
in `{braces}`, numbers, commands, names and short words stay as they are, and so does the length of a line.
"""

from __future__ import annotations

import re

WORDS = re.compile(r"{[^{}]*}|`[^`]*`|'[^']*'|\"[^\"]*\"|--\S+|\S*[./_=]\S*|\b[a-z]{4,}\b")
PLAIN = re.compile(r"[a-z]{4,}")
TURNED = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")


def respelt(text: str) -> str:
    """The sentence with other letters in its plain words; a template of names alone stays."""
    return WORDS.sub(lambda word: word[0].translate(TURNED) if PLAIN.fullmatch(word[0]) else word[0], text)


class Respelt(dict):
    """A table that has every sentence."""

    def get(self, text, _=None):
        return respelt(text)


def pytest_addoption(parser):
    parser.addoption("--reworded", action="store_true", help="spell every English sentence otherwise")


def pytest_configure(config):
    says = "letters: compares files with the letters of sentences, so that it has no place in `--reworded`"
    config.addinivalue_line("markers", says)
    if config.getoption("reworded"):
        from rigright.base import words

        true = words.sentences
        words.sentences = lambda language: Respelt() if language == words.ENGLISH else true(language)


def pytest_collection_modifyitems(config, items):
    """The letters themselves are the subject of a few tests, and of the golden pages."""
    left = [item for item in items if config.getoption("reworded") and item.get_closest_marker("letters")]
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)
