"""torchtune's metric log: `Step 5 | loss:1.2 tokens_per_second_per_gpu:4100 peak_memory_active:21.3`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, number
from rigright.verbs.runs.setup import RunSetup

_STEP = re.compile(r"Step \d{1,9} \|.{0,400}?tokens_per_second_per_gpu:")
_FIGURE = re.compile(
    r"\b(tokens_per_second_per_gpu|peak_memory_(?:active|alloc|reserved)): {0,3}([0-9.eE+]{1,30})"
)
_WARM = 1  # steps that compile and fill caches


def claims(found: Document) -> bool:
    """Whether torchtune wrote it."""
    return _STEP.search(found.text) is not None


def rows(found: Document, setup: RunSetup) -> Iterator[Run]:
    """The median step, and the highest peak."""
    del setup
    told: dict[str, list[float]] = {}
    for name, text in _FIGURE.findall(found.text):
        value = number(text)
        if value is not None:
            told.setdefault(name, []).append(value)
    speeds = told.get("tokens_per_second_per_gpu", [])
    steady = speeds[_WARM:] or speeds
    peaks = told.get("peak_memory_alloc") or told.get("peak_memory_active")
    values = {
        "framework": "torchtune",
        "tok_per_s_per_chip": median(steady) if steady else None,
        "peak_gib": max(peaks) if peaks else None,
        "peak_kind": "allocated" if peaks else "",
    }
    yield Run(kind="training", cells=cells(values))


OUTPUT = OutputFormat(name="torchtune", claims=claims, rows=rows)
