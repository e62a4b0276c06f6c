"""The model a row speaks of: its `arch` column, else its `shape`, else its `model` by name."""

from __future__ import annotations

from functools import cache

from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say

BYTES = 256  # no vocabulary is smaller than the bytes it must spell


def model_of(row: Row) -> tuple[Arch, tuple[Sentence, ...]]:
    """The Arch of a row, and what was assumed to find it."""
    if row.get("arch"):
        return _open(row["arch"]), ()
    if row.get("shape"):
        shape, notes = _plausible(row["shape"])
        return _open(shape), notes
    if row.get("model"):
        arch = _open(row["model"])
        return arch, arch.warnings  # which model a short name was taken for
    raise AskError(say("the row has no model: arch, shape and model are empty"))


def _plausible(shape: str) -> tuple[str, tuple[Sentence, ...]]:
    """A vocabulary below 256 was written in thousands."""
    pairs = [pair.partition("=") for pair in shape.split(",")]
    vocab = next((value.strip() for key, _, value in pairs if key.strip() == "vocab"), "")
    if not vocab.isdecimal() or not 0 < int(vocab) < BYTES:
        return shape, ()
    meant = shape.replace(f"vocab={vocab}", f"vocab={vocab}000")
    return meant, (say("vocab={vocab} read as thousands", vocab=vocab),)


@cache
def _open(asked: str) -> Arch:
    return open_model(asked)
