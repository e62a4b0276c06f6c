"""A page as one self-contained HTML file: nothing is fetched, everything foreign is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from rigright.base.page import (
    Bar,
    Bars,
    Commands,
    Line,
    Page,
    Part,
    Plot,
    Points,
    Shown,
    Strip,
    Strips,
    Table,
)
from rigright.base.tables import DATA
from rigright.base.words import clean, tell
from rigright.report.charts import (
    Axis,
    bar_scale,
    legend,
    piece_orders,
    pieces_of,
    places,
    plot_axes,
    strip_axis,
    thinned,
    total,
)
from rigright.report.screen import Screen, command_text, mark

_LANGUAGE = {"en": "en", "zh": "zh-Hans"}
_PIECES = 8
_COLUMNS, _TALL = 240, 24  # of a strip
_WIDE, _HIGH = 640.0, 320.0  # of a plot, in the units of its picture


def render(page: Page, screen: Screen, *, paper: bool = False) -> str:
    """The page as a whole HTML document; the screen only tells the language. `paper`: to print and sign."""
    style = f"{_style('page')}{_style('print')}{_style('paper') if paper else ''}"
    title = f"{'' if paper else escape(mark(page.tone, screen))}{_text(page.title, screen)}"
    return (
        f'<!doctype html>\n<html lang="{_LANGUAGE[screen.language]}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body{' class=paper' if paper else ''}>\n"
        f"{body(page, screen, marked=not paper)}\n</body>\n</html>\n"
    )


def embed(page: Page, screen: Screen) -> str:
    """The page to stand inside another document, a notebook's: its style reaches nothing outside."""
    return _alone(body(page, screen))


def picture(part: Bars | Plot | Strips, screen: Screen) -> str:
    """One picture of a page, to stand inside another document."""
    return _alone("\n".join(_part(part, screen)))


def _alone(inside: str) -> str:
    # nested rules: `body` and `:root` are the box itself; thrice, to outweigh a notebook's own rules
    style = (
        _style("page")
        .replace(":root {", "& {")
        .replace("body {\n  margin: 2.5rem auto;", "& {\n  margin: 0;")
        .replace("16px/1.55", "14px/1.5")
    )
    box = ".rigright" * 3
    return f'<div class="rigright">\n<style>\n{box} {{\n{style}}}\n</style>\n{inside}\n</div>\n'


def _style(file: str) -> str:
    return (DATA / f"{file}.css").read_text(encoding="utf-8")


def body(page: Page, screen: Screen, *, marked: bool = True) -> str:
    """The inside of the page, for a document that has the style; `marked`: with the tick of its verdict."""
    title = f"{escape(mark(page.tone, screen)) if marked else ''}{_text(page.title, screen)}"
    head = f"<h1>{title}</h1>" if page.tone == "plain" else f'<h1 class="{page.tone}">{title}</h1>'
    return "\n".join((head, *(text for part in page.drawn for text in _part(part, screen))))


def _part(part: Part, screen: Screen) -> Iterator[str]:
    """What is not empty of the heading of a part, and the part."""
    head = getattr(part, "title", None)
    if head is not None:
        yield f"<h2>{_text(head, screen)}</h2>"
    write: Callable[..., str] = _WRITTEN[type(part)]
    if text := write(part, screen):
        yield text


def _text(stated: Shown, screen: Screen) -> str:
    return escape(clean(tell(stated, screen.language)))


def _line(line: Line, screen: Screen) -> str:
    marked = f"{escape(mark(line.tone, screen))}{_text(line.text, screen)}"
    return f'<p class="{line.tone}">{marked}</p>'


def _table(table: Table, screen: Screen) -> str:
    sides = [
        ' class="right"' if column.right else ' class="wrap"' if column.flexible else ""
        for column in table.columns
    ]
    heads = "".join(
        f"<th{side}>{_text(column.head, screen)}</th>"
        for side, column in zip(sides, table.columns, strict=True)
    )
    tones = table.tones or ("plain",) * len(table.rows)
    rows = []
    for row, tone in zip(table.rows, tones, strict=False):
        cells = (f"<td{side}>{_text(cell, screen)}</td>" for side, cell in zip(sides, row, strict=True))
        rows.append(f'<tr class="{tone}">{"".join(cells)}</tr>')
    return '<div class="scroll"><table>\n<tr>' + heads + "</tr>\n" + "\n".join(rows) + "\n</table></div>"


def _bars(bars: Bars, screen: Screen) -> str:
    strips = "".join(_bar(bar, bars, screen=screen) for bar in bars.bars)
    return f'<div class="bars">\n{strips}</div>\n{_legend(bars, screen)}'


def _bar(bar: Bar, bars: Bars, *, screen: Screen) -> str:
    orders, scale = piece_orders(bars), bar_scale(bars)
    stretches = [
        f'<i class="p{orders[piece.name] % _PIECES}" style="width:{100 * piece.size / scale:.2f}%"'
        f' title="{_text(piece.name, screen)} {escape(clean(piece.shown))}"></i>'
        for piece in pieces_of(bar)
    ]
    free = max(bar.limit - total(bar), 0)
    stretches.append(f'<i class="free" style="width:{100 * free / scale:.2f}%"></i>')
    stretches.append(f'<i class="limit" style="left:calc({100 * bar.limit / scale:.2f}% - 2px)"></i>')
    tone = "bad" if total(bar) > bar.limit else "plain"
    return (
        f"<span>{_text(bar.label, screen)}</span>"
        f'<div class="strip">{"".join(stretches)}</div>'
        f'<span class="{tone}">{escape(clean(bar.shown))}</span>\n'
    )


def _legend(chart: Bars | Plot, screen: Screen) -> str:
    names = (
        f'<span><i class="p{order % _PIECES}"></i>'
        f"{f'<b>{escape(letter)}</b> ' if isinstance(chart, Plot) else ''}{escape(text)}</span>"
        for letter, text, order in legend(chart, screen)
    )
    return f'<div class="legend">{"".join(names)}</div>'


def _points(points: Points, screen: Screen) -> str:
    items = "".join(f"<li>{_text(item, screen)}</li>" for item in points.items)
    return f'<ul class="{points.tone}">{items}</ul>' if items else ""


def _plot(plot: Plot, screen: Screen) -> str:
    axes = plot_axes(plot)
    if axes is None:
        return ""
    names = [
        f'<text x="{_WIDE:.0f}" y="{_HIGH + 34:.0f}" class="end">{_text(plot.x_name, screen)}</text>',
        f'<text x="6" y="6">{_text(plot.y_name, screen)}</text>',
    ]
    left = max(60, 8 + 8 * max((len(label) for _, label in axes[1].ticks), default=0))
    return (
        f'<svg class="plot" viewBox="-{left} -10 {_WIDE + left + 20:.0f} {_HIGH + 50:.0f}" role="img"'
        f' aria-label="{_text(plot.title or plot.y_name, screen)}">\n'
        + "\n".join((*_grid(*axes), *names, *_drawn(plot, axes, screen=screen)))
        + f"\n</svg>\n{_legend(plot, screen)}"
    )


def _grid(across: Axis, up: Axis) -> list[str]:
    texts = []
    for share, label in across.ticks:
        x = share * _WIDE
        texts.append(f'<path class="grid" d="M{x:.1f} 0V{_HIGH:.0f}"/>')
        texts.append(f'<text x="{x:.1f}" y="{_HIGH + 16:.0f}" class="middle">{label}</text>')
    for share, label in up.ticks:
        y = (1 - share) * _HIGH
        texts.append(f'<path class="grid" d="M0 {y:.1f}H{_WIDE:.0f}"/>')
        texts.append(f'<text x="-6" y="{y + 4:.1f}" class="end">{label}</text>')
    return texts


def _drawn(plot: Plot, axes: tuple[Axis, Axis], *, screen: Screen) -> list[str]:
    texts = []
    for order, curve in enumerate(plot.curves):
        path = " ".join(f"{x * _WIDE:.1f},{(1 - y) * _HIGH:.1f}" for x, y in places(curve.points, axes))
        texts.append(f'<polyline class="s{order % _PIECES}" points="{path}"/>')
    for spot in plot.spots:
        for x, y in places(((spot.x, spot.y),), axes):
            left, top = x * _WIDE, (1 - y) * _HIGH
            texts.append(f'<circle class="f{spot.curve % _PIECES}" cx="{left:.1f}" cy="{top:.1f}" r="4"/>')
            texts.append(f'<text x="{left + 6:.1f}" y="{top - 5:.1f}">{_text(spot.letter, screen)}</text>')
    return texts


def _strips(strips: Strips, screen: Screen) -> str:
    rows = "".join(
        f"<span>{_text(strip.label, screen)}</span>{_over_time(strip)}"
        f"<span>{_text(strip.shown, screen)}</span>\n"
        for strip in strips.strips
    )
    span = "" if strips.span is None else f'<p class="dim">{_text(strips.span, screen)}</p>'
    return f'<div class="bars">\n{rows}</div>\n{span}'


def _over_time(strip: Strip) -> str:
    """One quantity over time as columns; what was not observed is left out."""
    values = thinned(strip.values, _COLUMNS)
    shares = map(strip_axis(strip).share, values)
    columns = "".join(
        f"M{place} {_TALL}V{_TALL * (1 - share):.2f}"
        for place, share in enumerate(shares)
        if share is not None
    )
    return (
        f'<svg class="over" viewBox="-0.5 0 {max(len(values), 1)} {_TALL}" preserveAspectRatio="none">'
        f'<path d="{columns}"/></svg>'
    )


def _commands(commands: Commands, screen: Screen) -> str:
    lines = "\n".join(escape(command_text(item, screen)) for item in commands.items)
    return f"<pre>{lines}</pre>" if lines else ""


_WRITTEN: dict[type, Callable[..., str]] = {
    Line: _line,
    Table: _table,
    Bars: _bars,
    Points: _points,
    Commands: _commands,
    Plot: _plot,
    Strips: _strips,
}
