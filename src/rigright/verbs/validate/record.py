"""What a kind of measured file bears."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rigright.base.tables import CellReader, Row
from rigright.base.words import Sentence
from rigright.verbs.validate.validation import Basis, Prediction

__all__ = ["Basis", "Prediction", "TableKind"]


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
    needed: tuple[str, ...] = ()  # cells that may not be empty
    measured: tuple[str, ...] = ()  # columns of results: a bad cell there hinders no prediction
    later: Sentence | None = None  # known, but not predicted yet: why
