"""A config.json, under whatever name it lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.arch.sources.files import read_json
from rigright.base.errors import DataError
from rigright.base.words import say

CONFIG = "config.json"
# other JSON that lies beside models -> what it is
_OTHERS = {
    "weight_map": say("an index of weight files: give its folder"),
    "added_tokens": say("a tokenizer"),
    "chat_template": say("tokenizer settings"),
    "tokenizer_class": say("tokenizer settings"),
    "peft_type": say("an adapter: give its folder"),
}
_TELLING = ("model_type", "architectures", "_class_name", "hidden_size", "n_embd", "d_model")


def open_config(path: Path) -> Arch:
    """The Arch of a config file; named after the file, or after the folder of a config.json."""
    raw = read_json(path)
    refuse_others(raw, path)
    value = raw.get("_model")
    if isinstance(value, str) and value:
        name = value[:200]
    elif path.name == CONFIG:
        name = path.resolve().parent.name or CONFIG
    else:
        name = path.stem.replace("__", "/", 1)
    return read_config(raw, name)


def refuse_others(raw: dict[str, Any], path: Path) -> None:
    """JSON of another kind is an error that says which."""
    if any(key in raw for key in _TELLING):
        return
    for key, kind in _OTHERS.items():
        if key in raw:
            raise DataError(say("{path} is not a model config but {kind}", path=path, kind=kind))
