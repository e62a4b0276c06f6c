"""The screen a page is rendered for."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.base.words import ENGLISH

NARROW_CELLS = 50  # below this the rows of a table may become cards


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """How wide it is in cells, and what it can show."""

    width: int = 100
    colour: bool = False
    unicode: bool = True
    language: str = ENGLISH
