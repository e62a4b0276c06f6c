"""The files of a sweep: a grid of questions, the journal of their answers as they come, the sheet of all.

A grid is a CSV whose columns are options of `plan`; "a | b" in a cell asks for both. With the journal nothing
is lost and a sweep that was broken off goes on.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from sys import intern
from typing import IO, NamedTuple

from rigright import __version__
from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.files import safe_cell, write_whole
from rigright.base.record import Flat, Inner, derived
from rigright.base.tables import open_rows
from rigright.base.units import MEGA
from rigright.base.words import clean, say
from rigright.verbs.runs.files import read_text

_BETWEEN = "|"
MOST_QUESTIONS = int(MEGA)
_NEEDED = ("model",)
_USERS = frozenset({"users", "concurrency"})
_BESIDE = 8  # questions that differ in these alone, and are scored in one call
_JOURNAL = ".part"  # behind the name of the sheet
_JOINT = "\0"  # between the cells of one answer


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepQuestion:
    """One question: options of `plan` as they would be typed."""

    index: int
    line: int  # of the grid's file
    words: Mapping[str, str]
    beside: tuple[str, ...] = ()  # users of the questions near it that ask the same


class Cells(Mapping[str, str]):
    """Cells of one answer in one text: a sweep holds tens of thousands, of which few are looked at."""

    __slots__ = ("_heads", "_text")

    def __init__(self, cells: Mapping[str, str]) -> None:
        self._heads, self._text = intern(_JOINT.join(cells)), _JOINT.join(cells.values())

    def __getitem__(self, name: str) -> str:
        return dict(self._pairs())[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._heads.split(_JOINT) if self._heads else ())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> ItemsView[str, str]:
        """All of them at once."""
        return dict(self._pairs()).items()

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return zip(self, self._text.split(_JOINT), strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer as flat cells, or why there is none."""

    index: Inner[int]
    cells: Flat[Mapping[str, str]]
    why: str = ""


class AskedAnswer(NamedTuple):
    """A question of the sheet, with its answer."""

    asked: Mapping[str, str]  # each option as it was typed
    answer: Flat[Answered]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """A whole sweep."""

    file: str
    questions: Inner[tuple[SweepQuestion, ...]]
    cells: Inner[tuple[Answered, ...]]  # in the order of the questions
    kept: int  # answered by an earlier, broken-off sweep
    places: Mapping[str, int]  # how many questions each node or worker answered
    out: str | None
    seconds: float

    @derived
    def answers(self) -> tuple[AskedAnswer, ...]:
        """Each question with its answer."""
        pairs = zip(self.questions, self.cells, strict=True)
        return tuple(AskedAnswer(question.words, answer) for question, answer in pairs)

    @property
    def table(self) -> tuple[tuple[str, ...], Iterator[tuple[str, ...]]]:
        """Heads of everything that was asked and answered, and its rows one by one."""
        asked = tuple(dict.fromkeys(name for question in self.questions for name in question.words))
        given = tuple(dict.fromkeys(name for answered in self.cells for name in answered.cells))

        def rows() -> Iterator[tuple[str, ...]]:
            for question, answer in zip(self.questions, self.cells, strict=True):
                cells = dict(answer.cells.items())
                yield (
                    *(question.words.get(name, "") for name in asked),
                    *(cells.get(name, "") for name in given),
                    answer.why,
                )

        return (*asked, *given, "why"), rows()


def read_grid(asked: str, *, known: frozenset[str]) -> tuple[SweepQuestion, ...]:
    """Every question of a grid, in its order."""
    text = read_text(asked)
    rows: list[tuple[int, Mapping[str, str]]] = []
    for line, raw in open_rows(text.lines, text.name, required=_NEEDED):
        strange = [name for name in raw if name.strip() not in known] if not rows else []
        if strange:
            raise DataError(
                say(
                    '{file}: unknown column "{column}"; known: {known}',
                    file=text.name,
                    column=strange[0],
                    known=", ".join(sorted(known)),
                )
            )
        rows.append((line, {name: cell for name, cell in raw.items() if cell.strip()}))
    if not rows:
        raise DataError(say("{file} has a header but no rows", file=text.name))
    count = sum(prod(map(len, _choices(raw).values())) for _, raw in rows)
    if count > MOST_QUESTIONS:
        raise DataError(
            say(
                "{file} asks {count} questions; the limit is {most}",
                file=text.name,
                count=f"{count:,}",
                most=f"{MOST_QUESTIONS:,}",
            )
        )
    spread = [(line, words) for line, raw in rows for words in _products(raw)]
    beside = _beside([words for _, words in spread])
    return tuple(
        SweepQuestion(index=index, line=line, words=words, beside=beside[index])
        for index, (line, words) in enumerate(spread)
    )


def _beside(asked: Sequence[Mapping[str, str]]) -> list[tuple[str, ...]]:
    """For each question the users of those near it that ask the same."""
    alike: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for index, words in enumerate(asked):
        key = tuple(item for item in words.items() if item[0] not in _USERS)
        alike.setdefault(key, []).append(index)
    texts: list[tuple[str, ...]] = [()] * len(asked)
    for places in alike.values():
        for start in range(0, len(places), _BESIDE):
            near = places[start : start + _BESIDE]
            users = {
                words[name]: None for words in map(asked.__getitem__, near) for name in _USERS & {*words}
            }
            for index in near:
                texts[index] = tuple(users)
    return texts


def _products(raw: Mapping[str, str]) -> Iterator[dict[str, str]]:
    choices = _choices(raw)
    for combination in product(*choices.values()):
        yield dict(zip(choices, combination, strict=True))


def _choices(raw: Mapping[str, str]) -> dict[str, list[str]]:
    """The values each filled cell asks for."""
    return {
        name.strip(): [value.strip() for value in cell.split(_BETWEEN)]
        for name, cell in raw.items()
        if cell.strip()
    }


def journal_of(out: str) -> Path | None:
    """Where answers lie until all are there; nowhere where they go into a device or a pipe."""
    path = Path(out)
    return path.with_name(path.name + _JOURNAL) if path.is_file() or not path.exists() else None


def stamp_of(questions: Sequence[SweepQuestion]) -> str:
    """What tells that a journal belongs to these questions and this program."""
    asked = json.dumps([__version__, [dict(question.words) for question in questions]], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def kept_answers(path: Path, *, mark: str) -> dict[int, Answered]:
    """Answers of an earlier sweep of the same questions; a line that was cut off is not one."""
    try:
        with path.open(encoding="utf-8") as file:
            if file.readline().rstrip("\n") != mark:
                return {}
            return {answered.index: answered for answered in map(_read_answer, file) if answered is not None}
    except (OSError, UnicodeDecodeError):
        return {}


@contextmanager
def opened_journal(path: Path, *, mark: str, fresh: bool) -> Iterator[IO[str]]:
    """The journal, open for more answers."""
    with path.open("w" if fresh else "a", encoding="utf-8") as file:
        file.write(f"{mark}\n" if fresh else "\n")
        yield file


def append_answer(file: IO[str], answered: Answered) -> None:
    """One answer, at once on disk."""
    file.write(json.dumps([answered.index, dict(answered.cells), answered.why]) + "\n")
    file.flush()


def _read_answer(line: str) -> Answered | None:
    try:
        index, cells, why = bounded_json(line)
        return Answered(index=int(index), cells=Cells(dict(cells)), why=str(why))
    except (ValueError, TypeError):
        return None


def write_answers(result: Swept, out: str) -> None:
    """The whole sheet."""
    heads, rows = result.table
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    for row in (heads, *rows):
        write([safe_cell(clean(cell)) for cell in row])
    write_whole(Path(out), text.getvalue())
