"""The tools that an agent is offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.base.page import Commands, Page, prose, table
from rigright.base.words import say


def page(listed: Mapping[str, Mapping[str, Any]]) -> Page:
    """Each tool with what it must and may be given."""
    rows = []
    for name, row in listed.items():
        more = sorted({*row["properties"]} - {*row["required"]})
        rows.append((name, ", ".join(row["required"]) or "-", ", ".join(more)))
    columns = (say("tool"), say("needs"), prose(say("takes")))
    return Page.of(
        say("{count} tools", count=len(rows)),
        table(columns, rows),
        Commands.next(("rigright mcp --http 9478",)),
    )


def ended() -> Page:
    """After the last question."""
    return Page.of(say("no more requests"))
