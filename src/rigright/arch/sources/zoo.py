"""The zoo: configs of well-known models, one line each; a name costs one search, not a parse of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.arch.sources.files import parse_json
from rigright.base.tables import DATA

_ZOO = DATA / "models.jsonl"
_START = '{"_model":"'


@cache
def _text() -> str:
    return _ZOO.read_text(encoding="utf-8")


@cache
def names() -> tuple[str, ...]:
    """Every model: "org/name", or "org/name#part" for a part of a pipeline."""
    return tuple(line[len(_START) : line.index('"', len(_START))] for line in _text().splitlines())


@cache
def _by_lower() -> dict[str, str]:
    """Names in small letters, with their publisher; without it where only one model is called so."""
    own = Counter(name.partition("/")[2].lower() for name in names())
    bare = {name.partition("/")[2].lower(): name for name in names()}
    alone = {short: name for short, name in bare.items() if own[short] == 1}
    return alone | {name.lower(): name for name in names()}


def exact(asked: str) -> str | None:
    """The zoo's spelling of a whole name."""
    return _by_lower().get(asked.lower())


@cache
def config(name: str) -> dict[str, Any]:
    """The keys of one model's config."""
    start = _text().index(f'{_START}{name}",')
    return parse_json(_text()[start : _text().index("\n", start)].encode(), name)


@cache
def arch(name: str) -> Arch:
    """The Arch of one model of the zoo."""
    return read_config(config(name), name)


def archs() -> Iterator[Arch]:
    """Every model of the zoo, in the order of names."""
    return map(arch, names())
