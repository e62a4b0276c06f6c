"""What a kind of measured file bears."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from rigright.base.errors import AskError, RigError
from rigright.base.tables import CellReader, Row
from rigright.base.words import say
from rigright.verbs.runs.columns import columns_of
from rigright.verbs.validate.validation import Basis, Prediction

__all__ = ["Answer", "Basis", "Prediction", "TableKind", "caught", "each", "each_caught"]
Answer = tuple[Prediction, ...] | RigError  # what a row comes to, or why to nothing
P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")


def caught(law: Callable[P, T], *given: P.args, **named: P.kwargs) -> T | RigError:
    """What a law gives, or why it gives nothing: no row takes another with it, whatever it meets."""
    try:
        return law(*given, **named)
    except RigError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a defect of ours is told in its row
        what = f"{type(error).__name__}: {error}"
        return AskError(say("this row met a defect of rigright ({what}); please report it", what=what))


def each_caught(law: Callable[[Sequence[A]], Sequence[T]], asked: Sequence[A]) -> list[T | RigError]:
    """What a law gives of many at once; where one of them cannot be, each by itself."""
    if not asked:
        return []
    found = caught(law, asked)
    if not isinstance(found, RigError):
        return list(found)
    if len(asked) == 1:
        return [found]
    alone = (caught(law, [one]) for one in asked)
    return [one if isinstance(one, RigError) else one[0] for one in alone]


def each(law: Callable[[Row], tuple[Prediction, ...]]) -> Callable[[Sequence[Row]], list[Answer]]:
    """A law of one row, as a law of many."""
    return lambda rows: [caught(law, row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKind:
    """A kind of file: how its header is known, how its cells are read, how a row is predicted.

    Each file of `kinds/` bears one as `KIND`. An error becomes the `why` of its row.
    """

    name: str
    marks: tuple[str, ...]  # columns no file of this kind lacks
    metrics: Callable[[Mapping[str, str]], tuple[str, ...]]  # of a row, from its raw cells
    answers: Callable[[Sequence[Row]], Sequence[Answer]]  # of many rows at once, none of which takes another
    needed: tuple[str, ...] = ()  # cells that may not be empty
    measured: tuple[str, ...] = ()  # columns of results: a bad cell there hinders no prediction

    @property
    def columns(self) -> Mapping[str, CellReader]:
        """Every column it knows; an empty cell is None."""
        return columns_of(self.name)

    def predict(self, row: Row) -> tuple[Prediction, ...]:
        """What one row comes to; raises its error."""
        (answer,) = self.answers([row])
        if isinstance(answer, RigError):
            raise answer
        return answer
