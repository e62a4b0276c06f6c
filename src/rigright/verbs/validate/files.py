"""Reads the table of runs and writes the table of predictions; "-" is standard input or output."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path

from rigright.base.errors import AskError, DataError
from rigright.base.files import read_bounded, too_large
from rigright.base.tables import MAX_TABLE_BYTES
from rigright.base.words import ENGLISH, say, tell
from rigright.report.validation import Prediction, Validation

STDIO = "-"
HEADER = ("id", "metric", "predicted", "low", "high", "answered", "why")


@dataclass(frozen=True, slots=True)
class Text:
    """A table's name and its lines."""

    name: str
    lines: list[str]


def read_text(asked: str) -> Text:
    """The whole table, bounded; what is no text is an error."""
    if not asked.strip():
        raise AskError(say("the name of the file is empty"))
    if asked == STDIO:
        name, content = "stdin", sys.stdin.buffer.read(MAX_TABLE_BYTES + 1)
        if len(content) > MAX_TABLE_BYTES:
            raise too_large(name, MAX_TABLE_BYTES)
    else:
        name, content = Path(asked).name, read_bounded(asked, MAX_TABLE_BYTES)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(say("{file} is not UTF-8 text; save it as CSV in UTF-8", file=name)) from None
    return Text(name, list(io.StringIO(text, newline="")))


def predictions_csv(found: Validation, language: str = ENGLISH) -> str:
    """One line a row and metric."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADER)
    for row in found.rows:
        for one in row.predictions:
            why = tell(one.why, language) if one.why is not None else ""
            answered = "no" if one.predicted is None else "yes"
            table.writerow((row.id, one.metric, *_figures(one), answered, why))
    return out.getvalue()


def _figures(one: Prediction) -> tuple[str, str, str]:
    figures = (one.predicted, one.low, one.high)
    predicted, low, high = ("" if figure is None else f"{figure:.6g}" for figure in figures)
    return predicted, low, high


def write_predictions(found: Validation, asked: str, *, language: str = ENGLISH) -> None:
    """Write the table of predictions; an OSError names the file."""
    path = Path(asked)
    try:
        path.write_text(predictions_csv(found, language), encoding="utf-8", newline="")
    except OSError as error:
        error.filename = asked
        raise
    except ValueError as error:
        raise AskError(say("cannot write {file}: {why}", file=asked, why=error)) from None
