"""A list of parts that was judged, and machines that were put together, as answers."""

from __future__ import annotations

from rigright.base.record import dataclass
from rigright.build.machine import Rig
from rigright.build.ruling import OK, Ruling, worst

EXITS = {"ok": 0, "doubt": 10, "impossible": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedList:
    """A person's list, as it was read, and what the rules say of it."""

    rig: Rig
    rulings: tuple[Ruling, ...]
    lines: tuple[tuple[str, str], ...]  # kind and text as written

    @property
    def verdict(self) -> str:
        """On the whole."""
        return worst(self.rulings)

    @property
    def against(self) -> tuple[Ruling, ...]:
        """What is not fine, the worst first."""
        return tuple(one for one in self.rulings if one.verdict != OK)
