"""Runs a file: which kind it is, each row's predictions, the errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from rigright.base import shelf
from rigright.base.errors import DataError, RigError
from rigright.base.files import STDIN, called
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row, head_of, open_rows
from rigright.base.words import Sentence, say, with_semicolons
from rigright.verbs.runs.columns import NOTHING_SAID, RunSetup, completed
from rigright.verbs.runs.document import OutputFormat
from rigright.verbs.runs.files import RecognisedFile, Text, gather, known
from rigright.verbs.validate.door import Entered, enter
from rigright.verbs.validate.foreign import noted_cells
from rigright.verbs.validate.record import Answer, Judged, Prediction, TableKind, Validation, caught, scores

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
    names = [asked] if isinstance(asked, str) else list(asked)
    read: dict[str, None] = {}  # kinds of tables
    rows, judged = _rows(names, setup, read=read), list[Judged]()
    answers: dict[object, Answer] = {}
    while some := list(islice(rows, TOGETHER)):  # no more of them are kept than that
        answers |= _answers(some, known=answers)
        for row in some:
            judged.append(_judge(row, answers=answers))
            progress(len(judged))
    shown = names[0] if len(names) == 1 else ", ".join(names[:MOST_NAMES])
    label = called(shown) if len(names) == 1 or shown == STDIN else shown
    return Validation(file=label, kind=", ".join(read), rows=tuple(judged), scores=scores(judged))


def _kinds() -> tuple[TableKind, ...]:
    return tuple(shelf.load(FOLDER, "KIND").values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadRow:
    """A row as it was read, or why it cannot be."""

    kind: TableKind
    raw: Mapping[str, str]
    line: int
    row: Row
    wrong: Mapping[str, Sentence]  # measured figures that cannot be read
    entry: Entered | Sentence

    @property
    def asks(self) -> tuple[object, ...]:
        """What rows that ask the same have in common: all but what was measured."""
        apart = {"id", *self.kind.measured}
        return (self.kind.name, *[value for column, value in self.row.items() if column not in apart])


def _rows(names: Sequence[str], setup: RunSetup, *, read: dict[str, None]) -> Iterator[_ReadRow]:
    """Every row of the files; `read` is told the kinds of their tables."""
    for file in gather(names):
        # a table that bears all marks of a kind is ours, whatever its notes quote
        if file.output is not None and not _bears_all(file.table):
            for row in _written(file, file.output, setup=setup):
                read[row.kind.name] = None
                yield row
            continue
        kind = recognise(file.table)
        read[kind.name] = None
        own = setup.cells(kind.name)
        for line, raw in open_rows(file.table.lines, file.name, required=kind.marks):
            # what was said goes into cells that are empty
            said = {name: text for name, text in own.items() if not (raw.get(name) or "").strip()}
            yield _read(kind, {**raw, **said}, line=line)


def _written(file: RecognisedFile, output: OutputFormat, *, setup: RunSetup) -> Iterator[_ReadRow]:
    """The runs of what some program wrote; none is an error."""
    by_name = {kind.name: kind for kind in _kinds()}
    number = 0
    for number, run in enumerate(output.rows(file.document, setup), 1):
        line = run.line or number
        source = "" if output.by_hand else f"{output.name}:{file.name}"
        named = {"id": f"{file.name}:{line}", "source": source}
        raw = {**named, **completed(run.kind, run.cells, setup=setup)}
        yield _read(by_name[run.kind], raw, line=line, notes=run.notes)
    if not number:
        raise DataError(
            say("{file}: no metrics in this output of {program}", file=file.name, program=output.name),
            hint=say("was the run interrupted? run it again"),
        )


def _header(text: Text) -> set[str]:
    """The names of the first line's columns."""
    return {name.strip() for name in head_of(text.lines, text.name)}


def _bears_all(text: Text) -> bool:
    header = caught(_header, text)
    return not isinstance(header, RigError) and any(header >= set(kind.marks) for kind in _kinds())


def recognise(text: Text) -> TableKind:
    """The kind whose columns the header bears most of."""
    header = _header(text)
    # a file that bears all the marks of a kind is of it, whatever else it holds
    best = max(
        _kinds(),
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
                kinds="; ".join(f"{kind.name}.csv ({', '.join(kind.marks)}, ...)" for kind in _kinds()),
            ),
            hint=say(
                "a table of your own needs at least {columns}; supported benchmark outputs: {known}",
                columns="model, GPU, TTFT (ms)",
                known=known(),
            ),
        )
    return best


def _read(
    kind: TableKind, raw: Mapping[str, str], *, line: int, notes: tuple[Sentence, ...] = ()
) -> _ReadRow:
    """Read one row."""
    row, columns = noted_cells(kind.name, raw, required=kind.needed)
    faults = {column: _fault(raw, column, line=line) for column in columns}
    missing = next((fault for column, fault in faults.items() if column in kind.needed), None)
    unread = [fault for column, fault in faults.items() if column not in kind.measured]
    entry: Entered | Sentence | RigError
    entry = caught(enter, kind.name, row, raw=raw, faults=unread) if missing is None else missing
    if isinstance(entry, Entered):
        row, entry = entry.row, replace(entry, notes=(*notes, *entry.notes))
    return _ReadRow(
        kind=kind, raw=raw, line=line, row=row,
        wrong={column: fault for column, fault in faults.items() if column in kind.measured},
        entry=entry.whole if isinstance(entry, RigError) else entry,
    )  # fmt: skip


def _answers(rows: Sequence[_ReadRow], *, known: Mapping[object, Answer]) -> dict[object, Answer]:
    """What each new question comes to; rows that ask the same are predicted once, rows of a kind together."""
    answers: dict[object, Answer] = {}
    for kind in {row.kind.name: row.kind for row in rows}.values():
        unlike = {
            row.asks: row.row
            for row in rows
            if row.kind.name == kind.name and isinstance(row.entry, Entered) and row.asks not in known
        }
        answers |= dict(zip(unlike, kind.answers(list(unlike.values())), strict=True))
    return answers


def _judge(row: _ReadRow, *, answers: Mapping[object, Answer]) -> Judged:
    """A row beside what was predicted; an unreadable cell, or an error, becomes the reason why not."""
    raw, entry = row.raw, row.entry
    answer: Answer | Sentence = answers[row.asks] if isinstance(entry, Entered) else entry
    why = answer.whole if isinstance(answer, RigError) else answer
    if isinstance(why, Sentence):
        given = tuple(Prediction(metric=metric, group=metric, why=why) for metric in row.kind.metrics(raw))
    else:
        given = why
    if isinstance(entry, Entered):
        given = tuple(map(entry.told, given))
    return Judged(
        line=row.line,
        id=(raw.get("id") or "").strip() or str(row.line),
        source=(raw.get("source") or "").strip(),
        chip=(raw.get("chip") or raw.get("gpu") or "").strip(),
        model=(raw.get("arch") or raw.get("model") or raw.get("shape") or "").strip(),
        predictions=tuple(_beside_measured(row, prediction) for prediction in given),
        faults=tuple(row.wrong.values()),
    )


def _beside_measured(row: _ReadRow, prediction: Prediction) -> Prediction:
    """A prediction beside its own row's measured figure, or beside the reason why that is none."""
    measured, own = row.kind.measured, prediction.metric
    column = own if own in measured else next(iter(measured), own)
    if column not in row.wrong:
        return replace(prediction, measured=row.row.get(column))
    fault = say("{fault}; treated as not measured", fault=row.wrong[column])
    return replace(prediction, measured=None, why=with_semicolons([prediction.why, fault]))


def _fault(raw: Mapping[str, str], column: str, *, line: int) -> Sentence:
    cell = (raw.get(column) or "").strip()
    if not cell:
        return say("line {line}, column {column}: empty", line=line, column=column)
    shown = cell if len(cell) <= SEEN_CHARS else cell[: SEEN_CHARS - 3] + "..."
    return say('line {line}, column {column}: cannot read "{cell}"', line=line, column=column, cell=shown)
