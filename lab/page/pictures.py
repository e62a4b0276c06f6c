"""Pictures as small SVG files: predicted against measured, and how errors are spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lab.page.validated import ROOT, TITLES, PredictedFigure

FOLDER = ROOT / "docs" / "pictures"
SIDE, EDGE = 360, 46  # of the drawn field, and of the rim around it
MOST_DOTS = 420  # of one picture; more would hide each other
INKS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#9c6b4e", "#a463f2", "#97bbf5")
GREY = "#888"
WAYS = (
    ("predicted", "in sample"),
    ("source_out", "source left out"),
    ("chip_out", "chip left out"),
    ("model_out", "model left out"),
)


def scatter(metric: str, runs: Sequence[PredictedFigure]) -> str:
    """Measured across, predicted up, both in powers of ten; on the line they are equal."""
    low, high = _limits(runs)
    scale = SIDE / (high - low)
    sources = sorted({run.source for run in runs})
    parts = [
        _frame(TITLES[metric], f"measured ({_unit(metric)})", f"predicted ({_unit(metric)})", legend=sources)
    ]
    parts += _ticks(low, high)
    for shift, dash in ((0.0, ""), (math.log10(1.2), "3 3"), (-math.log10(1.2), "3 3")):
        parts.append(_diagonal(shift * scale, dash))
    for run in _some(runs):
        x = EDGE + (math.log10(run.measured) - low) * scale
        y = EDGE + SIDE - (math.log10(run.predicted) - low) * scale
        ink = INKS[sources.index(run.source) % len(INKS)]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{ink}" fill-opacity=".6"/>')
    return _svg(parts, tall=len(sources))


def spread(metric: str, ways: Mapping[str, np.ndarray]) -> str:
    """Share of runs (up) whose error is below so much (across), in sample and left out."""
    most = 1.0
    names = [name for key, name in WAYS if key in ways]
    parts = [
        _frame(f"{TITLES[metric]}: share of runs within an error", "error", "share of runs", legend=names)
    ]
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        at = EDGE + share * SIDE
        parts.append(_text(at, EDGE + SIDE + 14, f"{share * most:.0%}", "middle"))
        parts.append(_text(EDGE - 5, EDGE + SIDE - share * SIDE + 4, f"{share:.0%}", "end"))
    for ink, (key, _) in zip(INKS, (way for way in WAYS if way[0] in ways), strict=False):
        errors = np.sort(np.abs(np.expm1(ways[key])))
        points = []
        for share in np.linspace(0, 1, 81):
            error = float(np.quantile(errors, share))
            if error <= most:
                points.append(f"{EDGE + error / most * SIDE:.1f},{EDGE + SIDE - share * SIDE:.1f}")
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{ink}" stroke-width="1.5"/>')
    return _svg(parts, tall=len(names))


def draw(
    runs: Mapping[tuple[str, str], PredictedFigure], left: Mapping[tuple[str, str], Mapping[str, float]]
) -> dict[Path, str]:
    """Every picture, by its file."""
    made: dict[Path, str] = {}
    for metric in TITLES:
        mine = {key: run for key, run in runs.items() if run.metric == metric}
        if not mine:
            continue
        made[FOLDER / f"{metric}.svg"] = scatter(metric, list(mine.values()))
        rows = [left[key] for key in mine if key in left]
        columns = {name: np.array([row[name] for row in rows if name in row]) for name, _ in WAYS}
        columns = {name: values for name, values in columns.items() if len(values)}
        if len(columns) > 1:
            made[FOLDER / f"{metric}_left_out.svg"] = spread(metric, columns)
    return made


def _some(runs: Sequence[PredictedFigure]) -> list[PredictedFigure]:
    """Every so many-th run of each source, so that small sources are seen."""
    by_source: dict[str, list[PredictedFigure]] = {}
    for run in sorted(runs, key=lambda run: run.id):
        by_source.setdefault(run.source, []).append(run)
    share = MOST_DOTS // len(by_source)
    return [run for mine in by_source.values() for run in mine[:: max(math.ceil(len(mine) / share), 1)]]


def _limits(runs: Sequence[PredictedFigure]) -> tuple[float, float]:
    figures = np.log10([figure for run in runs for figure in (run.measured, run.predicted)])
    return float(math.floor(figures.min() * 2) / 2), float(math.ceil(figures.max() * 2) / 2)


def _ticks(low: float, high: float) -> list[str]:
    parts = []
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = (power - low) / (high - low) * SIDE
        name = f"{10.0**power:,.10g}"
        parts.append(_text(EDGE + at, EDGE + SIDE + 14, name, "middle"))
        parts.append(_text(EDGE - 5, EDGE + SIDE - at + 4, name, "end"))
    return parts


def _diagonal(shift: float, dash: str) -> str:
    """The line of equals, moved up."""
    ends = (
        EDGE + max(-shift, 0),
        EDGE + SIDE - max(shift, 0),
        EDGE + SIDE - max(shift, 0),
        EDGE + max(-shift, 0),
    )
    x1, y1, x2, y2 = (f"{end:.1f}" for end in ends)
    style = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{GREY}"{style}/>'


def _frame(title: str, across: str, up: str, *, legend: Sequence[str]) -> str:
    parts = [
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{GREY}"/>',
        _text(EDGE, EDGE - 14, title, "start"),
        _text(EDGE + SIDE / 2, EDGE + SIDE + 30, across, "middle"),
        f'<g transform="rotate(-90 12 {EDGE + SIDE / 2:.0f})">{_text(12, EDGE + SIDE / 2, up, "middle")}</g>',
    ]
    for place, name in enumerate(legend):
        y = EDGE + SIDE + 48 + 15 * place
        parts.append(f'<circle cx="{EDGE + 4}" cy="{y - 4}" r="4" fill="{INKS[place % len(INKS)]}"/>')
        parts.append(_text(EDGE + 14, y, name, "start"))
    return "\n".join(parts)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    safe = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{safe}</text>'


def _svg(parts: Sequence[str], *, tall: int) -> str:
    width, height = SIDE + EDGE + 20, SIDE + EDGE + 50 + 15 * tall
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="sans-serif" font-size="11" fill="{GREY}">'  # fmt: skip # noqa: E501
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _unit(metric: str) -> str:
    return "ms" if metric.endswith("_ms") else "samples/s" if metric == "samples_per_s" else "tokens/s"
