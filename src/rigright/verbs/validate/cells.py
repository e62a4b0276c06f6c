"""Readers of cells that bear counts and measured figures: what cannot be is not read."""

from __future__ import annotations

import math
from collections.abc import Callable

from rigright.base.tables import CellReader, number
from rigright.base.units import NO, YES

MOST_RANKS, MOST_TOK = 999_999, 999_999_999
MOST_GIB, MOST_RATE = 999_999, 999_999_999_999  # beyond any machine there is


def count(most: int) -> Callable[[str], int]:
    """A reader of whole numbers from one to `most`, "8" or "8.0"."""

    def read(cell: str) -> int:
        value = number(cell)
        if not 1 <= value <= most or value != int(value):
            raise ValueError(cell)
        return int(value)

    return read


def figure(most: float) -> CellReader:
    """A reader of measured figures: above zero, at most `most`."""

    def read(cell: str) -> float:
        value = number(cell)
        if not 0 < value <= most:
            raise ValueError(cell)
        return value

    return read


def ranks(cell: str) -> float:
    """How many ranks; 0 or a word that denies them: one; a word that it is so: endless, all there are."""
    said = cell.strip().lower()
    if said in NO:
        return 1
    return math.inf if said in YES and said != "1" else count(MOST_RANKS)(cell)


def side(cell: str) -> int:
    """Pixels of a side, "224"; of "936x624", the side of a square as large."""
    sides = [count(MOST_TOK)(part) for part in cell.lower().replace("\u00d7", "x").split("x")[:3]]
    return round(math.prod(map(float, map(str, sides))) ** (1 / len(sides)))
