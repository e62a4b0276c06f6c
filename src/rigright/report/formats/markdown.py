"""A page to paste where Markdown is read: tables stay tables, bars stand in a code block."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rigright.base.page import Bars, Commands, Line, Page, Plot, Points, Shown, Strips, Table
from rigright.base.words import clean, tell
from rigright.report.charts import draw_chart
from rigright.report.screen import Screen, command_text, mark

_CHART_CELLS = 100  # a code block scrolls; it needs no narrow screen
_SPECIAL = re.compile(r"[\\`*<>|\[\]~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_OPENING = re.compile(r"\A(\d{0,9})([#=+.)-])(?=[\s#=-]|\Z)")  # would open a heading, list or rule


def render(page: Page, screen: Screen) -> str:
    """The page as Markdown; the screen only tells the language."""
    blocks = [f"# {escape(mark(page.tone, screen))} {_text(page.title, screen)}".replace("#  ", "# ")]
    for part in page.drawn:
        title = getattr(part, "title", None)
        blocks += [f"## {_text(title, screen)}"] if title is not None else []
        write: Callable[..., str] = _WRITTEN[type(part)]
        blocks.append(write(part, screen))
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\g<0>", clean(text))


def _text(stated: Shown, screen: Screen) -> str:
    return escape(tell(stated, screen.language))


def _opened(sentence: Shown, screen: Screen) -> str:
    """A sentence that stands at the start of a block."""
    return _OPENING.sub(r"\1\\\2", _text(sentence, screen))


def _line(line: Line, screen: Screen) -> str:
    text = _opened(line.text, screen)
    if line.tone == "strong" and text:
        return f"**{text}**"
    return f"{escape(mark(line.tone, screen).strip())} {text}".strip()


def _table(table: Table, screen: Screen) -> str:
    heads = [_text(column.head, screen) for column in table.columns]
    rules = ["---:" if column.right else "---" for column in table.columns]
    rows = [[_text(cell, screen) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def _chart(chart: Bars | Plot | Strips, screen: Screen) -> str:
    lines = draw_chart(chart, replace(screen, width=_CHART_CELLS, colour=False))
    return _fenced("text", [line.replace("```", "'''") for line in lines])


def _commands(commands: Commands, screen: Screen) -> str:
    return _fenced("sh", [command_text(item, screen).replace("```", "'''") for item in commands.items])


def _fenced(kind: str, lines: list[str]) -> str:
    return "\n".join([f"```{kind}", *lines, "```"]) if lines else ""


_WRITTEN: dict[type, Callable[..., str]] = {
    Line: _line,
    Table: _table,
    Bars: _chart,
    Points: lambda points, screen: "\n".join(f"- {_opened(item, screen)}" for item in points.items),
    Commands: _commands,
    Plot: _chart,
    Strips: _chart,
}
