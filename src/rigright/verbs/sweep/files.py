"""Writes the answers of a sweep as one table: what was asked, then what was answered."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from rigright.base.files import safe_cell, write_whole
from rigright.base.words import clean
from rigright.verbs.sweep.swept import Swept


def write_answers(result: Swept, out: str) -> None:
    """The whole sheet."""
    heads, rows = result.table
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    for row in (heads, *rows):
        write([safe_cell(clean(cell)) for cell in row])
    write_whole(Path(out), text.getvalue())
