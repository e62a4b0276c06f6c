"""Writes the answers of a sweep as one table: what was asked, then what was answered."""

from __future__ import annotations

from pathlib import Path

from rigright.report.formats.csv import render
from rigright.report.pages.sweep import sheet
from rigright.report.screen import Screen
from rigright.report.swept import Swept


def write_answers(result: Swept, out: str) -> None:
    """All at once: who reads the file meanwhile sees the old one or the new one."""
    path = Path(out)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(render(sheet(result), Screen()), encoding="utf-8", newline="")
    fresh.replace(path)
