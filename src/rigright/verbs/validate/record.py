"""What a kind of measured file bears."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from rigright.base.errors import AskError, RigError
from rigright.base.tables import CellReader, Row
from rigright.base.words import say
from rigright.verbs.runs.columns import columns_of
from rigright.verbs.validate.validation import Basis, Prediction

__all__ = ["Answer", "Basis", "Prediction", "TableKind", "caught", "each", "together"]
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
    except Exception as error:  # noqa: BLE001 - a defect of ours is stated in its row
        what = f"{type(error).__name__}: {error}"
        return AskError(say("this row met a defect of rigright ({what}); please report it", what=what))


def together(law: Callable[[Sequence[A]], Sequence[T]], asked: Sequence[A | RigError]) -> list[T | RigError]:
    """What a law gives of many at once, errors left as they are; where one cannot be, each by itself."""
    whole = caught(law, [error for error in asked if not isinstance(error, RigError)])
    if isinstance(whole, RigError):
        return each(lambda value: law([value])[0], asked)
    result = iter(whole)
    return [error if isinstance(error, RigError) else next(result) for error in asked]


def each(law: Callable[..., T], *columns: Sequence[Any]) -> list[T | RigError]:
    """What a law gives row by row; the first error in the columns of a row stays."""

    def of_row(*cells: Any) -> T:
        for cell in cells:
            if isinstance(cell, RigError):
                raise cell
        return law(*cells)

    return [caught(of_row, *cells) for cells in zip(*columns, strict=True)]


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
