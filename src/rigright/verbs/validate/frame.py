"""Runs a file: which kind it is, each row's predictions, the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rigright.base import shelf
from rigright.base.errors import DataError, RigError
from rigright.base.tables import Row, head_of, open_rows
from rigright.base.words import Sentence, say, with_semicolons
from rigright.verbs.runs.files import STDIO, Text, gather, known
from rigright.verbs.runs.setup import NOTHING_SAID, RunSetup, completed
from rigright.verbs.validate.door import enter
from rigright.verbs.validate.notes import noted_cells
from rigright.verbs.validate.record import TableKind
from rigright.verbs.validate.scores import scores
from rigright.verbs.validate.validation import Judged, Prediction, Validation

FOLDER = "rigright.verbs.validate.kinds"
MOST_NAMES = 3  # of several files, in a title
SEEN_CHARS = 40  # of a bad cell that is shown

Seen = dict[tuple[object, ...], tuple[Prediction, ...]]


def validate(
    asked: str | Sequence[str],
    *,
    setup: RunSetup = NOTHING_SAID,
    progress: Callable[[int], None] = lambda _done: None,
) -> Validation:
    """Predict every run of files and hold it against what was measured.

    A file is a table of ours, or what a benchmark, a trainer or an engine wrote; "-" is standard input, a
    folder stands for all in it that can be read. `setup`: what such files leave open. `progress` is told how
    many runs are done.
    """
    kinds: dict[str, TableKind] = shelf.load(FOLDER, "KIND")
    by_name = {kind.name: kind for kind in kinds.values()}
    seen: dict[str, Seen] = {}
    rows: list[Judged] = []
    read: list[str] = []
    names = [asked] if isinstance(asked, str) else list(asked)
    for found in gather(names):
        # a table that bears all marks of a kind is ours, whatever its notes quote
        written = None if found.output is None or _bears_all(found.table) else found.output
        if written is None:
            kind = recognise(found.table)
            if kind.later is not None:
                return Validation(file=found.name, kind=kind.name, rows=(), scores=(), later=kind.later)
            read.append(kind.name)
            own = setup.cells(kind.name)
            for line, raw in open_rows(found.table.lines, found.name, required=kind.marks):
                rows.append(_judge(kind, _filled(raw, own), line=line, seen=seen.setdefault(kind.name, {})))
                progress(len(rows))
            continue
        before = len(rows)
        for number, run in enumerate(written.rows(found.document, setup), 1):
            kind = by_name[run.kind]
            named = {"id": f"{found.name}:{number}", "source": f"{written.name}:{found.name}"}
            raw = {**named, **completed(run.kind, run.cells, setup=setup)}
            rows.append(_judge(kind, raw, line=number, seen=seen.setdefault(run.kind, {})))
            read.append(run.kind)
            progress(len(rows))
        if len(rows) == before:
            raise DataError(
                say("{file}: no metrics in this output of {program}", file=found.name, program=written.name),
                hint=say("was the run interrupted? run it again"),
            )
    shown = names[0] if len(names) == 1 else ", ".join(names[:MOST_NAMES])
    label = "stdin" if shown == STDIO else Path(shown).name if len(names) == 1 else shown
    return Validation(file=label, kind=", ".join(dict.fromkeys(read)), rows=tuple(rows), scores=scores(rows))


def _filled(raw: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """A row of a table with what was said in the cells that it leaves empty."""
    return {**raw, **{name: text for name, text in own.items() if not (raw.get(name) or "").strip()}}


def _header(text: Text) -> set[str]:
    """The names of the first line's columns."""
    return {name.strip() for name in head_of(text.lines, text.name)}


def _bears_all(text: Text) -> bool:
    try:
        header = _header(text)
    except DataError:
        return False
    return any(header >= set(kind.marks) for kind in shelf.load(FOLDER, "KIND").values())


def recognise(text: Text) -> TableKind:
    """The kind whose columns the header bears most of."""
    header = _header(text)
    kinds: tuple[TableKind, ...] = tuple(shelf.load(FOLDER, "KIND").values())
    # a file that bears all the marks of a kind is of it, whatever else it holds
    best = max(
        kinds,
        key=lambda kind: (
            header >= set(kind.marks),
            len(header & set(kind.columns)),
            len(header & set(kind.marks)),
        ),
    )
    # a table with few of a kind's marks measures something else, though names such as chip and source recur
    if 2 * len(header & set(best.marks)) < len(best.marks):
        raise DataError(
            say(
                "{file} is not a known table of measured runs; expected columns of {kinds}",
                file=text.name,
                kinds="; ".join(f"{kind.name}.csv ({', '.join(kind.marks)}, ...)" for kind in kinds),
            ),
            hint=say("supported benchmark outputs: {known}", known=known()),
        )
    return best


def _judge(kind: TableKind, raw: Mapping[str, str], *, line: int, seen: Seen) -> Judged:
    """Predict one row; a cell that cannot be read, or an error, becomes the reason why not."""
    row, faults = noted_cells(kind.name, raw, readers=kind.columns, required=kind.needed)
    bad = [column for column in faults if column in kind.needed]
    if bad:
        predictions = _unanswered(kind, raw, why=_fault(raw, bad[0], line=line))
    else:
        unread = [column for column in faults if column not in kind.measured]
        entry = enter(kind.name, row, raw=raw, faults=[_fault(raw, column, line=line) for column in unread])
        row = entry.row
        # the predictions of a row; rows that ask the same are predicted once
        asked = tuple(value for column, value in row.items() if column not in {"id", *kind.measured})
        if asked not in seen:
            try:
                seen[asked] = kind.predict(row)
            except RigError as error:
                seen[asked] = _unanswered(kind, raw, why=error.whole)
        predictions = tuple(map(entry.told, seen[asked]))
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


def _held(kind: TableKind, one: Prediction, *, row: Row, wrong: Mapping[str, Sentence]) -> Prediction:
    """A prediction beside its own row's measured figure, or beside the reason why that is none."""
    column = one.metric if one.metric in kind.measured else next(iter(kind.measured), one.metric)
    if column not in wrong:
        return replace(one, measured=row.get(column))
    fault = say("{fault}; treated as not measured", fault=wrong[column])
    return replace(one, measured=None, why=with_semicolons([one.why, fault]))


def _unanswered(kind: TableKind, raw: Mapping[str, str], *, why: Sentence) -> tuple[Prediction, ...]:
    return tuple(Prediction(metric=metric, group=metric, why=why) for metric in kind.metrics(raw))


def _fault(raw: Mapping[str, str], column: str, *, line: int) -> Sentence:
    cell = (raw.get(column) or "").strip()
    if not cell:
        return say("line {line}, column {column}: empty", line=line, column=column)
    shown = cell if len(cell) <= SEEN_CHARS else cell[: SEEN_CHARS - 3] + "..."
    return say('line {line}, column {column}: cannot read "{cell}"', line=line, column=column, cell=shown)
