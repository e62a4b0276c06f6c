"""Writes the answers of a sweep as one table: what was asked, then what was answered."""

from __future__ import annotations

from pathlib import Path

from rigright.base.files import write_whole
from rigright.report.formats.csv import written
from rigright.report.pages.sweep import table
from rigright.report.screen import Screen
from rigright.report.swept import Swept


def write_answers(result: Swept, out: str) -> None:
    """The whole sheet."""
    heads, rows = table(result)
    write_whole(Path(out), written(heads, rows, screen=Screen()))
