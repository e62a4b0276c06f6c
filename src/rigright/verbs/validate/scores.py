"""Errors by source, chip and model, and macro-averaged over sources: no source outweighs another."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from rigright.verbs.validate.record import Judged, Prediction, Score

NEAR = 0.2  # an error that most can live with

Pair = tuple[Judged, Prediction]


def source_name(source: str) -> str:
    """A source's name without the page inside it: what stands before the first colon."""
    return source.partition(":")[0].strip() or "-"


def source_of(row: Judged) -> str:
    """The same of a row."""
    return source_name(row.source)


DIMENSIONS: dict[str, Callable[[Judged], str]] = {
    "source": source_of,
    "chip": lambda row: row.chip or "-",
    "model": lambda row: row.model or "-",
}


def scores(rows: Iterable[Judged]) -> tuple[Score, ...]:
    """Every score of a file; rows without a measured figure do not count."""
    pairs = [
        (row, prediction) for row in rows for prediction in row.predictions if prediction.measured is not None
    ]
    result = [
        _score(dimension, name, members=members)
        for dimension, key in DIMENSIONS.items()
        for name, members in _grouped(pairs, key).items()
    ]
    # the mean over sources of each figure, for what may be pooled
    by_source = [score for score in result if score.of == "source"]
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in by_source:
        groups.setdefault((score.metric, score.group), []).append(score)
    return (
        *tuple(_mean(metric, group, members=members) for (metric, group), members in sorted(groups.items())),
        *result,
    )


def _grouped(pairs: list[Pair], key: Callable[[Judged], str]) -> dict[tuple[str, str, str], list[Pair]]:
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for row, prediction in pairs:
        groups.setdefault((prediction.metric, prediction.group, key(row)), []).append((row, prediction))
    return dict(sorted(groups.items()))


def _score(dimension: str, name: tuple[str, str, str], *, members: list[Pair]) -> Score:
    errors = np.array([prediction.error for _, prediction in members if prediction.error is not None])
    inside = [prediction.holds for _, prediction in members if prediction.holds is not None]
    widths = [prediction.width for _, prediction in members if prediction.width is not None]
    metric, group, shown = name
    return Score(
        of=dimension,
        name=shown,
        metric=metric,
        group=group,
        measured=len(members),
        answered=len(errors),
        median_error=float(np.median(np.abs(errors))) if len(errors) else None,
        p90_error=float(np.quantile(np.abs(errors), 0.9)) if len(errors) else None,
        within_20_percent=float(np.mean(np.abs(errors) <= NEAR)) if len(errors) else None,
        bias=float(np.median(errors)) if len(errors) else None,
        band_coverage=sum(inside) / len(inside) if inside else None,
        width=float(np.median(widths)) if widths else None,
    )


def _mean(metric: str, group: str, *, members: list[Score]) -> Score:
    means: dict[str, float | None] = {}
    for name in ("median_error", "p90_error", "within_20_percent", "bias", "band_coverage", "width"):
        known = [figure for score in members if (figure := getattr(score, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    return Score(
        of="group",
        name=group,
        metric=metric,
        group=group,
        measured=sum(score.measured for score in members),
        answered=sum(score.answered for score in members),
        **means,
    )
