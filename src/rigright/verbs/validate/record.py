"""What a kind of measured file bears."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from rigright.base.errors import AskError, RigError
from rigright.base.tables import CellReader, Row
from rigright.base.words import Sentence, say
from rigright.verbs.validate.validation import Basis, Prediction

__all__ = ["Answer", "Basis", "Prediction", "TableKind", "caught", "each_caught"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKind:
    """A kind of file: how its header is known, how its cells are read, how a row is predicted.

    Each file of `kinds/` bears one as `KIND`. `predict` may raise a `RigError`: its sentence
    becomes the `why` of that row, and the next row goes on.
    """

    name: str
    columns: Mapping[str, CellReader]  # every column it knows; an empty cell is None
    marks: tuple[str, ...]  # columns no file of this kind lacks
    metrics: Callable[[Mapping[str, str]], tuple[str, ...]]  # of a row, from its raw cells
    predict: Callable[[Row], tuple[Prediction, ...]]
    together: Callable[[Sequence[Row]], Sequence[Answer]] | None = None  # the same of many rows, sooner
    needed: tuple[str, ...] = ()  # cells that may not be empty
    measured: tuple[str, ...] = ()  # columns of results: a bad cell there hinders no prediction
    later: Sentence | None = None  # known, but not predicted yet: why
