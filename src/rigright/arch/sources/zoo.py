"""The zoo: configs of well-known models, one line each; a name costs one search, not a parse of all.

A published model that has the architecture of another is a row of the identity table that names it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.arch.sources.files import parse_json
from rigright.arch.sources.identity import identity_of, shared
from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.files import read_bounded
from rigright.base.plugins import ADDED, FACTS, Plugin, adds, each, file_of
from rigright.base.record import replace
from rigright.base.tables import DATA
from rigright.base.units import MIB
from rigright.base.words import say

COLLECTED, DERIVED = DATA / "models.jsonl", DATA / "models_more.jsonl"
READS_WHOLE = frozenset({"embedding", "reranker"})
MODELS = "models.jsonl"  # of a plugin
_START = '{"_model":"'


@cache
def _text() -> str:
    lines = [line for file in (COLLECTED, DERIVED) for line in file.read_text(encoding="utf-8").splitlines()]
    lines += _of_plugins({line[len(_START) : line.index('"', len(_START))].lower() for line in lines})
    return "".join(f"{line}\n" for line in sorted(lines))


def _of_plugins(shipped: set[str]) -> Iterator[str]:
    """Configs that plugins add, each of a family that is known."""

    def take(plugin: Plugin) -> list[tuple[str, str]]:
        path = file_of(plugin, MODELS)
        lines = [] if path is None else read_bounded(path, MIB).decode("utf-8").splitlines()
        configs = []
        for line in filter(None, lines):
            config = bounded_json(line)
            name, source = str(config["_model"]), config["_source"]
            if name.lower() in shipped:
                raise DataError(say("a model of that name already exists"))
            read_config(config, name)
            fields = {"_model": name, **config, "_source": f"{ADDED}{plugin}: {source}"}
            configs.append((name, json.dumps(fields, separators=(",", ":"))))
        return configs

    for plugin, (name, line) in each(FACTS, say("its facts are"), take=take):
        yield line
        shipped.add(name.lower())
        adds(name, plugin)


@cache
def names() -> tuple[str, ...]:
    """Every model with a config of its own: "org/name", or "org/name#part" for a part of a pipeline."""
    return tuple(line[len(_START) : line.index('"', len(_START))] for line in _text().splitlines())


@cache
def every_name() -> tuple[str, ...]:
    """Every model that opens: those of `names`, then those that have the architecture of one."""
    return (*names(), *(name for name in shared() if name not in names()))


@cache
def _by_lower() -> dict[str, str]:
    """Names in small letters, with their publisher; without it where only one model is called so."""
    own = Counter(name.partition("/")[2].lower() for name in names())
    bare = {name.partition("/")[2].lower(): name for name in names()}
    alone = {short: name for short, name in bare.items() if own[short] == 1}
    return alone | {name.lower(): name for name in names()}


def exact(asked: str) -> str | None:
    """The zoo's spelling of a whole name."""
    wanted = asked.lower()
    text = _by_lower().get(wanted)
    return text if text or "/" not in asked else {name.lower(): name for name in shared()}.get(wanted)


def config(name: str) -> dict[str, Any]:
    """The keys of one model's config; of the one whose architecture it has, where it has none of its own."""
    return _config(shared().get(name, name) if name not in names() else name)


@cache
def _config(name: str) -> dict[str, Any]:
    start = _text().index(f'{_START}{name}",')
    return parse_json(_text()[start : _text().index("\n", start)].encode(), name)


@cache
def arch(name: str) -> Arch:
    """The Arch of one model of the zoo, with the context its publisher advertises."""
    known = identity_of(name)
    result = read_config(config(name), name)
    if known is None:
        return result
    if known.base is not None and name not in names():
        from rigright.arch.sources.spelling import own_part, spell

        own, base = spell(own_part(name)), spell(own_part(known.base))
        result = replace(
            result, stored=known.stored or own.stored or (None if base.formats else result.stored)
        )
        result = replace(result, published=result.stored)
    if known.task in READS_WHOLE and result.task == "text":  # a decoder that is asked for one vector or score
        result = replace(result, task="embed")
    return replace(result, max_context_tok=known.context_tok or result.max_context_tok)


def archs() -> Iterator[Arch]:
    """Every model with a config of its own, in the order of names."""
    return map(arch, names())
