"""A page for a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rigright.base.page import Bars, Commands, Line, Page, Plot, Points, Shown, Strips, Table, Tone
from rigright.report.draw.bars import draw_bars
from rigright.report.draw.tables import draw_table
from rigright.report.screen import Screen, mark, screen_text, toned, width, wrap

_MARKED: frozenset[Tone] = frozenset({"good", "warn", "bad"})
_WIDEST_TEXT = 100  # cells a sentence may take before it is hard to read


def render(page: Page, screen: Screen) -> str:
    """The page as lines of text, none wider than the screen but commands, which are to be copied."""
    answered = page.tone in _MARKED
    blocks = [
        _line(Line(text=page.title, tone=page.tone), screen) if answered else _heading(page.title, screen)
    ]
    for before, part in zip((None, *page.parts), page.parts, strict=False):
        draw: Callable[..., list[str]] = _DRAWN[type(part)]
        lines = draw(part, screen)
        if lines and isinstance(part, Line) and isinstance(before, Line) and not part.apart:
            blocks[-1] += lines
        elif lines:
            blocks.append(_heading(getattr(part, "title", None), screen) + lines)
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _heading(title: Shown | None, screen: Screen) -> list[str]:
    lines = _wrapped(title or "", screen)
    return [toned(line, "strong", screen=screen) for line in lines if line]


def _line(line: Line, screen: Screen) -> list[str]:
    return [
        toned(text, line.tone, screen=screen)
        for text in _hung(mark(line.tone, screen), line.text, screen=screen)
    ]


def _points(points: Points, screen: Screen) -> list[str]:
    bullet = "  • " if screen.unicode else "  - "
    return [
        toned(text, points.tone, screen=screen)
        for item in points.items
        for text in _hung(bullet, item, screen=screen)
    ]


def _hung(mark: str, sentence: Shown, *, screen: Screen) -> list[str]:
    """A sentence behind a mark, its further lines hung under its first word."""
    lines = _wrapped(sentence, screen, less=width(mark))
    return [mark + lines[0], *(" " * width(mark) + line for line in lines[1:])]


def _wrapped(sentence: Shown, screen: Screen, *, less: int = 0) -> list[str]:
    return wrap(screen_text(sentence, screen), min(screen.width, _WIDEST_TEXT) - less)


def _plot(plot: Plot, screen: Screen) -> list[str]:
    from rigright.report.draw.plots import draw_plot

    return draw_plot(plot, screen)


def _strips(strips: Strips, screen: Screen) -> list[str]:
    from rigright.report.draw.bars import draw_strips

    return draw_strips(strips, screen)


_DRAWN: dict[type, Callable[..., list[str]]] = {
    Line: _line,
    Table: draw_table,
    Bars: draw_bars,
    Points: _points,
    Commands: lambda commands, screen: [
        f"  {toned('$', 'dim', screen=screen)} {screen_text(item, screen)}" for item in commands.items
    ],
    Plot: _plot,
    Strips: _strips,
}
