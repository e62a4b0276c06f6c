"""The rows that are predicted worst, each with the reason a person wrote down for it, known or not."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lab.page.validated import ROOT, TITLES, PredictedFigure

REASONS = ROOT / "docs" / "accuracy" / "reasons.toml"
MOST = 6  # of a figure
UNTOLD = "not investigated yet"


def worst(runs: Iterable[PredictedFigure]) -> Iterator[str]:
    """The worst of each figure, one a chip, model and source: many rows err alike."""
    rows = reasons(REASONS)
    yield "| figure | row | source | chip | model | measured | predicted | off | reason |"
    yield "| --- | --- | --- | --- | --- | ---: | ---: | ---: | --- |"
    ranked = sorted(runs, key=lambda run: (-abs(run.off), run.id))
    for metric in TITLES:
        seen: set[tuple[str, str, str]] = set()
        for run in (predicted_figure for predicted_figure in ranked if predicted_figure.metric == metric):
            place = (run.source, run.chip, run.model)
            if place in seen or len(seen) == MOST:
                continue
            seen.add(place)
            yield _row(run, rows)


def _row(run: PredictedFigure, text: list[dict[str, Any]]) -> str:
    reason = next((row for row in text if fits(row, run)), None)
    why = UNTOLD if reason is None else f"{'' if reason['known'] else 'unknown; '}{reason['why']}"
    figures = f"{run.measured:,.4g} | {run.predicted:,.4g} | {run.predicted / run.measured:.2f}x"
    return (
        f"| {TITLES[run.metric]} | {run.id} | {run.source} | {run.chip} | {run.model} | {figures} | {why} |"
    )


def reasons(path: Path) -> list[dict[str, Any]]:
    """The reasons, the first that fits counts."""
    return list(tomllib.loads(path.read_text(encoding="utf-8")).get("reason", []))


def fits(reason: dict[str, Any], run: PredictedFigure) -> bool:
    """Whether a reason speaks of a run: each text it names stands in its field; `side`: it errs there."""
    fields = {"metric": run.metric, "source": run.note, "chip": run.chip, "model": run.model}
    side = "high" if run.off > 0 else "low"
    named = all(text.lower() in fields[name].lower() for name, text in reason["where"].items())
    return named and reason.get("side", side) == side
