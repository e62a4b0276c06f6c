"""What an engine is built for beside its name: CUDA, ROCm, Vulkan ..., and options of such a build."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.tables import DATA, Row, read_rows, text

_WORD = re.compile(r"[a-z]+")


@cache
def _rows() -> tuple[Row, ...]:
    readers = dict.fromkeys(("word", "backend", "option", "label"), text)
    return tuple(read_rows(DATA / "backends.csv", readers, required=("word", "backend", "label")))


@cache
def backend_words() -> dict[str, tuple[str, str | None]]:
    """Words people write -> the backend, and the option of its build that they name."""
    return {row["word"]: (row["backend"], row["option"]) for row in _rows()}


def backend_label(backend: str) -> str:
    """As its makers write it; "" where there is none to tell."""
    return next((str(row["label"]) for row in _rows() if row["backend"] == backend), "")


def backend_in(told: str) -> tuple[str, tuple[str, ...]]:
    """The backend that words name, and options of it; "" where they name none, or several."""
    words = backend_words()
    named = [words[word] for word in _WORD.findall(told.lower()) if word in words]
    backends = {backend for backend, _ in named}
    if len(backends) != 1:
        return "", ()
    return backends.pop(), tuple(sorted({option for _, option in named if option is not None}))


def without_backend(told: str) -> str:
    """The same without those words, and without what parted them."""
    words = "|".join(sorted(backend_words(), key=len, reverse=True))
    bare = re.sub(rf"[\s(/_-]*\b({words})\b\)?", " ", told.lower())
    return " ".join(bare.split())
