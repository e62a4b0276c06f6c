"""What the guides say wrong, and the right figures; a test computes them from our tables and laws."""

from __future__ import annotations

from functools import cache

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_toml
from rigright.base.words import Sentence, say


@dataclass(frozen=True, slots=True)
class MythValue:
    """A value with its unit; a value that is a word has none."""

    value: float | Sentence | None
    unit: str = ""

    @property
    def shown(self) -> Sentence | str:
        """For people: two or three leading digits, then the unit."""
        if not isinstance(self.value, float):
            return self.value or say("none")
        whole = self.value == int(self.value) or abs(self.value) >= 1000
        digits = 0 if whole else 1 if abs(self.value) >= 10 else 2
        return f"{self.value:,.{digits}f} {self.unit}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Myth:
    """One claim, and the right statement with `{names}` for figures."""

    id: int
    guide: str
    claim: str
    right: str
    source: str
    figures: dict[str, MythValue]


@cache
def myths() -> tuple[Myth, ...]:
    """Every myth, in order."""
    rows = read_toml(DATA / "myths.toml")["myth"]
    return tuple(
        Myth(**{**row, "figures": {name: _figure(cell) for name, cell in row["figures"].items()}})
        for row in rows
    )


def _figure(cell: float | str | list[float | str]) -> MythValue:
    """A cell of the table: a value, or a pair of a value and its unit."""
    if isinstance(cell, list):
        return MythValue(float(cell[0]), str(cell[1]))
    return MythValue((Sentence(cell) if cell else None) if isinstance(cell, str) else float(cell))


def find_myth(asked: str) -> Myth:
    """The myth of a number."""
    result = next((myth for myth in myths() if str(myth.id) == asked.strip()), None)
    if result is None:
        raise AskError(say("unknown myth {asked}; use 1 to {last}", asked=asked, last=len(myths())))
    return result
