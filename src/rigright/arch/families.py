"""Families of models: the names each answers to, and its reader; `data/arch/families.toml` has a row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from rigright.arch.config import Config
from rigright.arch.defaults import full, known
from rigright.arch.record import Arch
from rigright.base.tables import DATA, read_toml

Reader = Callable[[Config, str], Arch]

GENERIC = "generic"
_OWN = frozenset({"names", "family"})  # what a row does not take from the row it is like


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """Family -> its row, as it stands there."""
    return read_toml(DATA / "arch" / "families.toml")


@cache
def row(family: str) -> Mapping[str, Any]:
    """A family's row with all that it takes from the row it is like."""
    own = table()[family]
    like = {key: value for key, value in row(own["like"]).items() if key not in _OWN} if "like" in own else {}
    reads = {"reads": family} if "kin" in own else {}
    experts = {"experts": like["experts"] | own["experts"]} if "experts" in like and "experts" in own else {}
    return {"family": family, **like, **own, **reads, **experts, "id": family}


@cache
def names() -> Mapping[str, str]:
    """Every name a family answers to -> the family."""
    fields = {family: family for family in table() if family != GENERIC}
    for family, stated in table().items():
        for word in stated.get("names", ()):
            fields.setdefault(word, family)
    return fields


def family_of(word: str) -> str | None:
    """The family of that model type or class."""
    plain = word.replace("-", "_").replace(".", "_")
    return plain if plain in table() and plain != GENERIC else names().get(word)


def kind_of(config: Config, family: str) -> str:
    """The model type where it is one of the family's own names, else the family."""
    value = config.raw.get("model_type")
    return value if isinstance(value, str) and names().get(value) == family else family


@cache
def reader(family: str) -> Reader:
    """What reads a config of that family: its row, or its kin's function over the defaults of its class."""
    fields = row(family)
    if "kin" not in fields:
        from rigright.arch.rows import read_row

        return lambda config, name: read_row(fields, config, name=name)
    read: Reader = getattr(import_module(f"rigright.arch.kin.{fields['kin']}"), f"read_{fields['reads']}")
    if "unsaid" in fields:
        return read

    def whole(config: Config, name: str) -> Arch:
        kind = kind_of(config, family)
        return read(full(config, kind if known(kind) else family), name)

    return whole
