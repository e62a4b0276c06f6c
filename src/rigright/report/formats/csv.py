"""The first table of a page that has heads, as CSV: what a spreadsheet opens."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from rigright.base.errors import AskError
from rigright.base.files import safe_cell
from rigright.base.page import Page, Shown, Table
from rigright.base.words import clean, say, tell
from rigright.report.screen import Screen


def render(page: Page, screen: Screen) -> str:
    """The table, its heads in the first line; the screen only tells the language."""
    tables = [part for part in page.parts if isinstance(part, Table)]
    headed = (item for item in tables if any(column.head for column in item.columns))
    table = next(headed, tables[0] if tables else None)
    if table is None:
        raise AskError(say("this answer has no table to print as CSV; use --json"))
    return written((column.head for column in table.columns), table.rows, screen=screen)


def written(heads: Iterable[Shown], rows: Iterable[Iterable[Shown]], *, screen: Screen) -> str:
    """A table whose rows may come one by one."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write([_cell(head, screen) for head in heads])
    for row in rows:
        write([_cell(cell, screen) for cell in row])
    return out.getvalue()


def _cell(sentence: Shown, screen: Screen) -> str:
    text = clean(tell(sentence, screen.language))
    return safe_cell(text)
