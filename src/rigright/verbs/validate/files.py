"""Writes the table of predictions; "-" is standard output."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from rigright.base.errors import AskError
from rigright.base.files import safe_cell, write_whole
from rigright.base.words import ENGLISH, say, tell
from rigright.verbs.validate.validation import Prediction, Validation

HEADER = ("id", "metric", "predicted", "low", "high", "answered", "why")


def predictions_csv(validation: Validation, language: str = ENGLISH) -> str:
    """One line a row and metric."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    for row in validation.rows:
        for prediction in row.predictions:
            why = tell(prediction.why, language) if prediction.why is not None else ""
            answered = "no" if prediction.predicted is None else "yes"
            table.writerow(
                (safe_cell(row.id), prediction.metric, *_figures(prediction), answered, safe_cell(why))
            )
    return out.getvalue()


def _figures(prediction: Prediction) -> tuple[str, str, str]:
    figures = (prediction.predicted, prediction.low, prediction.high)
    predicted, low, high = ("" if figure is None else f"{figure:.6g}" for figure in figures)
    return predicted, low, high


def write_predictions(validation: Validation, asked: str, *, language: str = ENGLISH) -> None:
    """Write the table of predictions; an error names the file."""
    try:
        write_whole(Path(asked), predictions_csv(validation, language))
    except OSError as error:
        error.filename = asked
        raise
    except ValueError as error:
        raise AskError(say("cannot write {file}: {why}", file=asked, why=error)) from None
