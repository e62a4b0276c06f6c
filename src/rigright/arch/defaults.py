"""What a config leaves unsaid: its class's defaults, laid beneath the keys it has.

An absent key takes the default, a null stays null, and a key under another name of its class
(`hidden_size` for `d_model`) is found under both. `scripts/collect_arch_defaults.py` renews the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from rigright.arch.config import Config
from rigright.base.tables import DATA

# layers for predicting ahead are in the files only where the config itself says so
_NEVER_ASSUMED = frozenset(
    {"num_nextn_predict_layers", "num_mtp_layers", "num_mtp_modules", "mtp_num_hidden_layers"}
)


@cache
def _lines() -> Mapping[str, str]:
    """A kind -> its defaults as JSON: the table has one line a kind, and a start parses the few it needs."""
    lines = (DATA / "arch" / "defaults.json").read_text(encoding="utf-8").splitlines()
    return {kind[1:-1]: row.rstrip(",") for kind, _, row in (line.partition(": ") for line in lines[2:-1])}


@cache
def _row(kind: str) -> Mapping[str, Any]:
    row: dict[str, Any] = json.loads(_lines().get(kind, "{}"))
    return row


def full(config: Config, kind: str) -> Config:
    """The config of one kind with nothing left unsaid."""
    row = _row(kind)
    assumed = {key: value for key, value in row.get("keys", {}).items() if key not in _NEVER_ASSUMED}
    keys: dict[str, Any] = {**assumed, **config.raw}
    for other, own in row.get("alias", {}).items():
        if other in config.raw and own not in config.raw:
            keys[own] = config.raw[other]
        elif own in keys:
            keys[other] = keys[own]
    for key, inner in row.get("made", {}).items():
        if keys.get(key) is None and "num_hidden_layers" not in config.raw:
            keys[key] = inner
    return Config(keys, config.where)


def part(config: Config, key: str, *, kind: str | None = None) -> Config:
    """A nested config of the kind it names, else of `kind`, else of the kind its class expects."""
    inner = config.part(key)
    own = _row(str(config.raw.get("model_type"))).get("parts", {}).get(key, "")
    value = inner.raw.get("model_type")
    named = (
        value if isinstance(value, str) and known(value) and value != config.raw.get("model_type") else None
    )
    text = named or kind or own
    return full(inner, text).over(model_type=text)


def kind_of_class(name: str) -> str | None:
    """The kind a class speaks of: "mistral3" for "Mistral3ForConditionalGeneration"."""
    stem = name.partition("For")[0].removesuffix("LMHeadModel").removesuffix("Model").lower()
    return _plain_kinds().get(_plain(stem))


@cache
def _plain_kinds() -> Mapping[str, str]:
    return {_plain(kind): kind for kind in _lines()}


def _plain(kind: str) -> str:
    return kind.replace("_", "").replace("-", "")


def known(kind: str) -> bool:
    """Whether the table tells the defaults of a kind."""
    return kind in _lines()
