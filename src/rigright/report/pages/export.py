"""What was exported, as a page and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.base.words import say, tell
from rigright.facts.launching import FlagHeld
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


def held_page(rows: tuple[FlagHeld, ...]) -> Page:
    """What a server was given otherwise than planned."""
    wrong = [one for one in rows if not one.is_kept]
    if not wrong:
        return Page(title=say("✓ the server runs as planned"), parts=())
    heads = (say("flag"), say("planned"), say("on the server"), say("what it costs"))
    cells = tuple((one.flag, one.planned or "-", one.running or "-", one.costs or "") for one in wrong)
    title = say("✗ the server does not run as planned")
    return Page(title=title, parts=(Table(columns=tuple(Column(head=head) for head in heads), rows=cells),))


def held_plain(rows: tuple[FlagHeld, ...], language: str) -> dict[str, Any]:
    """The same for scripts, with what is as planned."""
    return {
        "as_planned": all(one.is_kept for one in rows),
        "flags": [
            {
                "flag": one.flag,
                "planned": one.planned,
                "running": one.running,
                "kept": one.is_kept,
                "costs": None if one.is_kept or one.costs is None else tell(one.costs, language),
            }
            for one in rows
        ],
    }
