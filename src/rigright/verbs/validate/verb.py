"""Runs a file: which kind it is, each row's predictions, the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rigright.base import shelf
from rigright.base.errors import DataError, RigError
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row, head_of, open_rows
from rigright.base.words import Sentence, say, with_semicolons
from rigright.verbs.runs.files import STDIO, Text, gather, known
from rigright.verbs.runs.setup import NOTHING_SAID, RunSetup, completed
from rigright.verbs.validate.door import Entered, enter
from rigright.verbs.validate.notes import noted_cells
from rigright.verbs.validate.record import Answer, Judged, Prediction, TableKind, Validation, caught
from rigright.verbs.validate.scores import scores

FOLDER = "rigright.verbs.validate.kinds"
TOGETHER = 8192  # rows that are answered at once
MOST_NAMES = 3  # of several files, in a title
SEEN_CHARS = 40  # of a bad cell that is shown


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
    rows = _Rows()
    read: list[str] = []
    names = [asked] if isinstance(asked, str) else list(asked)
    for file in gather(names):
        # a table that bears all marks of a kind is ours, whatever its notes quote
        written = None if file.output is None or _bears_all(file.table) else file.output
        if written is None:
            kind = recognise(file.table)
            read.append(kind.name)
            own = setup.cells(kind.name)
            for line, raw in open_rows(file.table.lines, file.name, required=kind.marks):
                rows.add(_ask(kind, _filled(raw, own), line=line))
                progress(rows.count)
            continue
        before = rows.count
        for number, run in enumerate(written.rows(file.document, setup), 1):
            kind = by_name[run.kind]
            line = run.line or number
            source = "" if written.by_hand else f"{written.name}:{file.name}"
            named = {"id": f"{file.name}:{line}", "source": source}
            raw = {**named, **completed(run.kind, run.cells, setup=setup)}
            rows.add(_ask(kind, raw, line=line, notes=run.notes))
            read.append(run.kind)
            progress(rows.count)
        if rows.count == before:
            raise DataError(
                say("{file}: no metrics in this output of {program}", file=file.name, program=written.name),
                hint=say("was the run interrupted? run it again"),
            )
    shown = names[0] if len(names) == 1 else ", ".join(names[:MOST_NAMES])
    label = "stdin" if shown == STDIO else Path(shown).name if len(names) == 1 else shown
    judged = rows.judged()
    return Validation(file=label, kind=", ".join(dict.fromkeys(read)), rows=judged, scores=scores(judged))


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
            hint=say(
                "a table of your own needs at least {columns}; supported benchmark outputs: {known}",
                columns="model, GPU, TTFT (ms)",
                known=known(),
            ),
        )
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadRow:
    """A row as it was read, or why it cannot be."""

    kind: TableKind
    raw: Mapping[str, str]
    line: int
    row: Row
    faults: tuple[str, ...]
    entry: Entered | Sentence

    @property
    def asks(self) -> tuple[object, ...]:
        """What rows that ask the same have in common: all but what was measured."""
        apart = {"id", *self.kind.measured}
        return (self.kind.name, *[value for column, value in self.row.items() if column not in apart])


def _ask(kind: TableKind, raw: Mapping[str, str], *, line: int, notes: tuple[Sentence, ...] = ()) -> _ReadRow:
    """Read one row."""
    row, faults = noted_cells(kind.name, raw, readers=kind.columns, required=kind.needed)
    asked: Any = {"kind": kind, "raw": raw, "line": line, "faults": tuple(faults)}
    missing = next((column for column in faults if column in kind.needed), None)
    if missing is not None:
        return _ReadRow(row=row, entry=_fault(raw, missing, line=line), **asked)
    unread = [_fault(raw, column, line=line) for column in faults if column not in kind.measured]
    entry = caught(enter, kind.name, row, raw=raw, faults=unread)
    if isinstance(entry, RigError):
        return _ReadRow(row=row, entry=entry.whole, **asked)
    return _ReadRow(row=entry.row, entry=replace(entry, notes=(*notes, *entry.notes)), **asked)


class _Rows:
    """Rows as they are read: answered many at a time, and no more of them kept than that."""

    def __init__(self) -> None:
        self.count = 0
        self._read: list[_ReadRow] = []
        self._judged: list[Judged] = []
        self._answers: dict[tuple[object, ...], Answer] = {}

    def add(self, row: _ReadRow) -> None:
        """One more."""
        self.count += 1
        self._read.append(row)
        if len(self._read) >= TOGETHER:
            self._answer()

    def judged(self) -> tuple[Judged, ...]:
        """All of them, each beside what was predicted."""
        self._answer()
        return tuple(self._judged)

    def _answer(self) -> None:
        asks = [row.asks for row in self._read]
        self._answers |= _answers(self._read, asks, known=self._answers)
        self._judged += [
            _judge(row, asks=some, answers=self._answers) for row, some in zip(self._read, asks, strict=True)
        ]
        self._read.clear()


def _answers(
    asked: Sequence[_ReadRow],
    asks: Sequence[tuple[object, ...]],
    *,
    known: Mapping[tuple[object, ...], Answer],
) -> dict[tuple[object, ...], Answer]:
    """What each new question comes to; rows that ask the same are predicted once, rows of a kind together."""
    error: dict[tuple[object, ...], Answer] = {}
    for kind in {row.kind.name: row.kind for row in asked}.values():
        unlike = {
            some: row.row
            for row, some in zip(asked, asks, strict=True)
            if row.kind.name == kind.name and isinstance(row.entry, Entered) and some not in known
        }
        error |= dict(zip(unlike, kind.answers(list(unlike.values())), strict=True))
    return error


def _judge(
    asked: _ReadRow, *, asks: tuple[object, ...], answers: Mapping[tuple[object, ...], Answer]
) -> Judged:
    """A row beside what was predicted; an unreadable cell, or an error, becomes the reason why not."""
    kind, raw, line = asked.kind, asked.raw, asked.line
    if not isinstance(asked.entry, Entered):
        predictions = _unanswered(kind, raw, why=asked.entry)
    else:
        answer = answers[asks]
        given = _unanswered(kind, raw, why=answer.whole) if isinstance(answer, RigError) else answer
        predictions = tuple(map(asked.entry.told, given))
    wrong = {column: _fault(raw, column, line=line) for column in asked.faults if column in kind.measured}
    return Judged(
        line=line,
        id=(raw.get("id") or "").strip() or str(line),
        source=(raw.get("source") or "").strip(),
        chip=(raw.get("chip") or raw.get("gpu") or "").strip(),
        model=(raw.get("arch") or raw.get("model") or raw.get("shape") or "").strip(),
        predictions=tuple(
            _beside_measured(kind, prediction, row=asked.row, wrong=wrong) for prediction in predictions
        ),
        faults=tuple(wrong.values()),
    )


def _beside_measured(
    kind: TableKind, prediction: Prediction, *, row: Row, wrong: Mapping[str, Sentence]
) -> Prediction:
    """A prediction beside its own row's measured figure, or beside the reason why that is none."""
    column = (
        prediction.metric
        if prediction.metric in kind.measured
        else next(iter(kind.measured), prediction.metric)
    )
    if column not in wrong:
        return replace(prediction, measured=row.get(column))
    fault = say("{fault}; treated as not measured", fault=wrong[column])
    return replace(prediction, measured=None, why=with_semicolons([prediction.why, fault]))


def _unanswered(kind: TableKind, raw: Mapping[str, str], *, why: Sentence) -> tuple[Prediction, ...]:
    return tuple(Prediction(metric=metric, group=metric, why=why) for metric in kind.metrics(raw))


def _fault(raw: Mapping[str, str], column: str, *, line: int) -> Sentence:
    cell = (raw.get(column) or "").strip()
    if not cell:
        return say("line {line}, column {column}: empty", line=line, column=column)
    shown = cell if len(cell) <= SEEN_CHARS else cell[: SEEN_CHARS - 3] + "..."
    return say('line {line}, column {column}: cannot read "{cell}"', line=line, column=column, cell=shown)
