"""Runs a file: which kind it is, each row's predictions, the errors."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace

from rigright.base import shelf
from rigright.base.errors import DataError, RigError
from rigright.base.tables import Row, delimiter, open_rows, read_cells
from rigright.base.words import Sentence, say, with_semicolons
from rigright.report.validation import Judged, Prediction, Validation
from rigright.verbs.validate.files import Text, read_text
from rigright.verbs.validate.record import Kind
from rigright.verbs.validate.scores import scores

FOLDER = "rigright.verbs.validate.kinds"
SEEN_CHARS = 40  # of a bad cell that is shown

Seen = dict[tuple[object, ...], tuple[Prediction, ...]]


def validate(asked: str) -> Validation:
    """Predict every row of a CSV ("-": standard input) and hold it against what was measured."""
    text = read_text(asked)
    kind = recognise(text)
    if kind.later is not None:
        return Validation(file=text.name, kind=kind.name, rows=(), scores=(), later=kind.later)
    seen: Seen = {}
    rows = tuple(
        _judge(kind, raw, line=line, seen=seen)
        for line, raw in open_rows(text.lines, text.name, required=kind.marks)
    )
    return Validation(file=text.name, kind=kind.name, rows=rows, scores=scores(rows))


def recognise(text: Text) -> Kind:
    """The kind whose columns the header bears most of."""
    try:
        header = {
            name.strip()
            for name in next(
                csv.reader(text.lines, delimiter=delimiter("".join(text.lines[:1])), strict=True), ()
            )
        }
    except csv.Error as error:
        raise DataError(say("{file} is not a CSV table: {why}", file=text.name, why=error)) from None
    kinds: tuple[Kind, ...] = tuple(shelf.load(FOLDER, "KIND").values())
    # a file that bears all the marks of a kind is of it, whatever else it holds
    best = max(
        kinds,
        key=lambda kind: (
            header >= set(kind.marks),
            len(header & set(kind.columns)),
            len(header & set(kind.marks)),
        ),
    )
    if len(header & set(best.columns)) < 2:
        raise DataError(
            say(
                "{file} is no table of measured runs that is known; its columns should be those of {kinds}",
                file=text.name,
                kinds="; ".join(f"{kind.name}.csv ({', '.join(kind.marks)}, ...)" for kind in kinds),
            )
        )
    return best


def _judge(kind: Kind, raw: Mapping[str, str], *, line: int, seen: Seen) -> Judged:
    """Predict one row; a cell that cannot be read, or an error, becomes the reason why not."""
    row, faults = read_cells(raw, kind.columns, required=kind.needed)
    bad = [column for column in faults if column not in kind.measured]
    if bad:
        predictions = _unanswered(kind, raw, why=_fault(raw, bad[0], line=line))
    else:
        # the predictions of a row; rows that ask the same are predicted once
        asked = tuple(value for column, value in row.items() if column not in {"id", *kind.measured})
        if asked not in seen:
            try:
                seen[asked] = kind.predict(row)
            except RigError as error:
                seen[asked] = _unanswered(kind, raw, why=error.whole)
        predictions = seen[asked]
    wrong = {column: _fault(raw, column, line=line) for column in faults if column in kind.measured}
    return Judged(
        line=line,
        id=(raw.get("id") or "").strip() or str(line),
        source=(raw.get("source") or "").strip(),
        chip=(raw.get("chip") or raw.get("gpu") or "").strip(),
        model=(raw.get("arch") or raw.get("model") or raw.get("shape") or "").strip(),
        predictions=tuple(_held(kind, one, row=row, wrong=wrong) for one in predictions),
        faults=tuple(wrong.values()),
    )


def _held(kind: Kind, one: Prediction, *, row: Row, wrong: Mapping[str, Sentence]) -> Prediction:
    """A prediction beside its own row's measured figure, or beside the reason why that is none."""
    column = one.metric if one.metric in kind.measured else next(iter(kind.measured), one.metric)
    if column not in wrong:
        return replace(one, measured=row.get(column))
    fault = say("{fault}; taken as not measured", fault=wrong[column])
    return replace(one, measured=None, why=with_semicolons([one.why, fault]))


def _unanswered(kind: Kind, raw: Mapping[str, str], *, why: Sentence) -> tuple[Prediction, ...]:
    return tuple(Prediction(metric=metric, group=metric, why=why) for metric in kind.metrics(raw))


def _fault(raw: Mapping[str, str], column: str, *, line: int) -> Sentence:
    cell = (raw.get(column) or "").strip()
    if not cell:
        return say("line {line}, column {column}: empty", line=line, column=column)
    shown = cell if len(cell) <= SEEN_CHARS else cell[: SEEN_CHARS - 3] + "..."
    return say('line {line}, column {column}: cannot read "{cell}"', line=line, column=column, cell=shown)
