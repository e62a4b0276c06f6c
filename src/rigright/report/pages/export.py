"""What was exported, as a page and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.base.words import say
from rigright.report.page import Column, Page, Points, Table


def page(written: tuple[str, ...], files: Mapping[str, str]) -> Page:
    """The files that were written, or could be."""
    if written:
        return Page(title=say("written"), parts=(Points(items=written),))
    columns = (Column(head=say("file")), Column(head=say("lines"), right=True))
    rows = tuple((name, str(text.count("\n"))) for name, text in files.items())
    return Page(title=say("files"), parts=(Table(columns=columns, rows=rows),))


def plain(written: tuple[str, ...], files: Mapping[str, str]) -> dict[str, Any]:
    """The same for scripts, with the texts."""
    return {"written": list(written), "files": dict(files)}
