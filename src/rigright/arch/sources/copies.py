"""Copies of a model under a name of their own: "Llama-3.1-8B-Fable-Distill-GGUF"."""

from __future__ import annotations

import re
from functools import cache

from rigright.arch.record import Arch
from rigright.arch.sources.find import find
from rigright.arch.sources.spelling import is_size, tables
from rigright.base.errors import RigError

MOST_CHARS = 300  # of a name that is looked at
_OTHERS = frozenset({"audio", "colbert", "draft", "eagle", "eagle3", "omni", "speculator", "vision", "vl"})


@cache
def copied(asked: str) -> Arch | None:
    """The model that a name begins with, its size included: makers of copies append words of their own.

    None where no known model is left, or where a word that is cut away tells of another architecture.
    """
    name = re.sub(r"\.(?:gguf|safetensors|bin)\Z", "", asked.strip()[:MOST_CHARS].lower().replace("\\", "/"))
    pieces = re.split(r"[-_ ]", name.rpartition("/")[2] or name)
    others = _OTHERS.union(tables()["kinds"]["words"])
    for end in range(len(pieces) - 1, 0, -1):
        sized = [is_size(piece) for piece in pieces[:end]]
        if pieces[end] in others or not any(sized) or all(sized):
            return None
        try:
            return find("-".join(pieces[:end]))
        except RigError:
            continue
    return None
