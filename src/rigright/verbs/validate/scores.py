"""Errors by source, chip and model, and macro-averaged over sources: no source outweighs another."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from rigright.verbs.validate.record import Judged, Prediction, Score

NEAR = 0.2  # an error that most can live with


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
    result: list[Score] = []
    for dimension, key in DIMENSIONS.items():
        groups: dict[tuple[str, str, str], list[Prediction]] = {}
        for row, prediction in pairs:
            groups.setdefault((prediction.metric, prediction.group, key(row)), []).append(prediction)
        result += [_score(dimension, place, members=groups[place]) for place in sorted(groups)]
    # the mean over sources of each figure, for what may be pooled
    by_group: dict[tuple[str, str], list[Score]] = {}
    for score in result:
        if score.of == "source":
            by_group.setdefault((score.metric, score.group), []).append(score)
    return (*(_mean(*place, members=by_group[place]) for place in sorted(by_group)), *result)


def _score(dimension: str, place: tuple[str, str, str], *, members: list[Prediction]) -> Score:
    errors = np.array([prediction.error for prediction in members if prediction.error is not None])
    inside = [prediction.holds for prediction in members if prediction.holds is not None]
    widths = [prediction.width for prediction in members if prediction.width is not None]
    metric, group, name = place
    figures = {
        "median_error": float(np.median(np.abs(errors))),
        "p90_error": float(np.quantile(np.abs(errors), 0.9)),
        "within_20_percent": float(np.mean(np.abs(errors) <= NEAR)),
        "bias": float(np.median(errors)),
    } if len(errors) else {}  # fmt: skip
    return Score(
        of=dimension, name=name, metric=metric, group=group, measured=len(members), answered=len(errors),
        band_coverage=sum(inside) / len(inside) if inside else None,
        width=float(np.median(widths)) if widths else None,
        **figures,
    )  # fmt: skip


def _mean(metric: str, group: str, *, members: list[Score]) -> Score:
    means: dict[str, float | None] = {}
    for name in ("median_error", "p90_error", "within_20_percent", "bias", "band_coverage", "width"):
        known = [figure for score in members if (figure := getattr(score, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    return Score(
        of="group", name=group, metric=metric, group=group,
        measured=sum(score.measured for score in members),
        answered=sum(score.answered for score in members),
        **means,
    )  # fmt: skip
