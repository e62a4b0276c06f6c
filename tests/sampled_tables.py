"""Tables of measured runs in part: `make test` reads every third row of a source or so, `make test-live` all.

A law that no longer meets a source misses a part of its rows as well.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest

THOROUGH = os.environ.get("RIGRIGHT_HYPOTHESIS") == "thorough"
whole_when_thorough = pytest.mark.hypothesis  # `make test-live` runs it too, on every row


def part(rows, *, every, by=("source",)):
    """One row in `every` of those that agree in `by`; all of them where thorough."""
    seen = Counter()
    kept = []
    for row in rows:
        group = tuple(row[column] for column in by)
        if THOROUGH or not seen[group] % every:
            kept.append(row)
        seen[group] += 1
    return kept


def part_of_file(path: Path, folder: Path, *, every, by=("source",), keep=lambda _row: True) -> str:
    """A table of the same name in this folder, with a part of the rows that are kept."""
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        rows = part((row for row in table if keep(row)), every=every, by=by)
    written = folder / path.name
    with written.open("w", encoding="utf-8", newline="") as file:
        new = csv.DictWriter(file, table.fieldnames)
        new.writeheader()
        new.writerows(rows)
    return str(written)
