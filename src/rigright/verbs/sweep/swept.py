"""Questions of a sweep and their answers."""

from __future__ import annotations

import csv
import io
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import NamedTuple

from rigright.base.files import safe_cell, write_whole
from rigright.base.record import Flat, Inner, derived
from rigright.base.words import Sentence, clean

_BETWEEN = "\0"


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
        self._heads, self._text = intern(_BETWEEN.join(cells)), _BETWEEN.join(cells.values())

    def __getitem__(self, name: str) -> str:
        return dict(self._pairs())[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._heads.split(_BETWEEN) if self._heads else ())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> ItemsView[str, str]:
        """All of them at once."""
        return dict(self._pairs()).items()

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return zip(self, self._text.split(_BETWEEN), strict=False)


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
    notes: Inner[tuple[Sentence, ...]] = ()

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


def write_answers(result: Swept, out: str) -> None:
    """The whole sheet."""
    heads, rows = result.table
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    for row in (heads, *rows):
        write([safe_cell(clean(cell)) for cell in row])
    write_whole(Path(out), text.getvalue())
