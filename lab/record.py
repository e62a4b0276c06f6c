"""What a subject of calibration bears: corrections, the runs that teach them, the terms that may move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.base.tables import Row


class LabError(Exception):
    """What the laboratory cannot go on with, in one sentence."""


Tables = Mapping[str, Any]  # a table of data/corrections as it is read
Path = tuple[str, ...]  # of a term in its tables: ("chips", "nvidia-hopper", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """One term that may move. Its prior is the value of the wider class; `spread` says how far it may go.

    A term is above zero: what moves is its logarithm, as a distance from its parent, so that a chip
    nobody has measured follows its class, and a class its kin.
    """

    path: Path
    parent: Path | None = None  # the term it shrinks toward; None, or not there: `prior`
    prior: float | None = None  # None: what the tables say before the fit
    spread: float = 0.3  # standard deviation of its logarithm about the parent
    low: float = 0.0
    high: float = float("inf")
    touches: tuple[int, ...] | None = None  # rows it can move; None: all. Dials apart are turned together


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One table of corrections. Each file of `subjects/` bears one as `SUBJECT`."""

    name: str  # of the table: "speed_serving"
    kind: str  # of measured file: "inference"
    teaches: Callable[[Row], bool]  # whether a row is used
    measured: Callable[[Row], float]
    prepare: Callable[
        [Sequence[Row]], Any
    ]  # rows -> whatever predict needs, once; what cannot be read raises
    predict: Callable[[Any, Tables], np.ndarray]  # one figure a row, as measured; nan: not answered
    dials: Callable[[Sequence[Row], Tables], tuple[Dial, ...]]
    keys: Callable[[Row], Mapping[str, str]]  # what is left out whole, and what bands are stated by:
    # "source", "chip", "model", "engine", "metric"; also, where they are known, "class" (of chip),
    # "kind" (of model: "dense", "moe", ...) and "band" (figures as uncertain as each other; else the metric);
    # "part": rows of a metric that count as much as a metric of their own
    table: str = ""  # that holds its terms; its own where not stated
    also: tuple[str, ...] = ()  # other kinds of file whose rows are read alike
    noise: float = 0.1  # of a good run about a good prediction, in logarithms; errors beyond count less
