"""Words that the table and the JSON of DCGM's diagnosis share."""

from __future__ import annotations

MOST_TESTS = 20_000  # of all cards together
_MOST_CHARS = 400
_OUTCOMES = {
    "pass": "pass",
    "fail": "fail",
    "warn": "warn",
    "warning": "warn",
    "skip": "skip",
    "skipped": "skip",
    "not run": "not run",
}


def outcome_of(text: str) -> str:
    """How a test ended; a word that nobody knows is no pass."""
    return _OUTCOMES.get(" ".join(text.lower().split()), "not run")


def plain(text: str) -> str:
    """A line of it, of bounded length, in one line."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:_MOST_CHARS]
