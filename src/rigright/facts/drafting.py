"""Speculative decoding as engines know it: methods, their words, and how many drafted tokens are kept."""

from __future__ import annotations

from functools import cache

from rigright.base.loader import rows
from rigright.facts.engines import Engine, order_of


def method_word(engine: Engine, method: str) -> str | None:
    """What an engine calls a method; None where it has none such, or not yet."""
    known = (row for row in _methods() if row[:2] == (engine.id, method))
    return next((word for *_, word, since in known if order_of(engine.version) >= order_of(since)), None)


def drafting_engines(method: str) -> tuple[str, ...]:
    """The engines that have a method."""
    return tuple(engine for engine, known, *_ in _methods() if known == method)


@cache
def acceptance(method: str, work: str) -> float:
    """The chance that a drafted token is kept if all before it were, for such work."""
    table = {row[:2]: float(row[2]) for row in rows("acceptance.csv", "method", "work", "accepted")}
    return table.get((method, work), table[method, ""])


def head_repo(model: str) -> str | None:
    """The EAGLE-3 head that is published for a model."""
    heads = {name.rpartition("/")[2].lower(): repo for name, repo in rows("draft_heads.csv", "model", "repo")}
    plain = model.rpartition("/")[2].lower()
    return heads.get(plain, heads.get(f"{plain}-instruct"))


@cache
def _methods() -> list[tuple[str, ...]]:
    return rows("drafting.csv", "engine", "method", "word", "since")
