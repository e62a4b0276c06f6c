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


FlagRow = tuple[str, str, str | None, bool]  # flag, planned, running, kept


def held_page(rows: tuple[FlagRow, ...]) -> Page:
    """What a server was given otherwise than planned."""
    wrong = [row for row in rows if not row[3]]
    if not wrong:
        return Page(title=say("✓ the server runs as planned"), parts=())
    columns = (Column(head=say("flag")), Column(head=say("planned")), Column(head=say("on the server")))
    cells = tuple((flag, planned, "-" if running is None else running) for flag, planned, running, _ in wrong)
    title = say("✗ the server does not run as planned")
    return Page(title=title, parts=(Table(columns=columns, rows=cells),))


def held_plain(rows: tuple[FlagRow, ...]) -> dict[str, Any]:
    """The same for scripts, with what is as planned."""
    return {
        "as_planned": all(kept for *_, kept in rows),
        "flags": [
            {"flag": flag, "planned": planned, "running": running, "kept": kept}
            for flag, planned, running, kept in rows
        ],
    }
