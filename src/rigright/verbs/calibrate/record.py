"""What a subject of calibration bears: corrections, the runs that teach them, the terms that may move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigright.base.tables import Row

Tables = Mapping[str, Any]  # a table of data/corrections as it is read


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """One term that may move. Its prior is the value of the wider class; `spread` says how far it may go."""

    path: tuple[str, ...]  # into the tables: ("chips", "nvidia-hopper", "memory")
    parent: tuple[str, ...] | None = None  # the term it shrinks toward; None: `prior`
    prior: float = 1.0
    spread: float = 0.3  # standard deviation of its logarithm about the parent
    low: float = 0.0
    high: float = float("inf")


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
    keys: Callable[
        [Row], Mapping[str, str]
    ]  # "source", "chip", "model", "engine", "metric": what is left out whole
