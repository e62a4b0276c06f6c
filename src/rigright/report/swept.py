"""Questions of a sweep and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rigright.base.words import Sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question: options of `plan` as they would be typed."""

    index: int
    line: int  # of the grid's file
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer as flat cells, or why there is none."""

    index: int
    cells: Mapping[str, str]
    why: str = ""

    TOLD = "*cells why"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """A whole sweep."""

    file: str
    questions: tuple[Question, ...]
    answers: tuple[Answered, ...]  # in the order of the questions
    kept: int  # answered by an earlier, broken-off sweep
    places: Mapping[str, int]  # how many questions each node or worker answered
    out: str | None
    seconds: float
    notes: tuple[Sentence, ...] = ()

    TOLD = "file kept places seconds out answers=pairs{asked=0.words *1}"

    @property
    def pairs(self) -> tuple[tuple[Question, Answered], ...]:
        """Each question with its answer."""
        return tuple(zip(self.questions, self.answers, strict=True))
