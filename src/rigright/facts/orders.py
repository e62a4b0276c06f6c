"""Orders: what `build` puts around cards of a chip, line by line: a search puts none together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text

Key = tuple[str, int]  # id of a chip, and cards of one machine


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLine:
    """One line of an order, with what it is priced by: its own range, or a row of the prices."""

    kind: str  # "cpu" is priced by its name, the others by kind, variant and size
    variant: str = ""
    size: float = 1.0
    count: int = 1
    low: float | None = None  # dollars of one, where the part's own row says so
    high: float | None = None
    as_of: str | None = None

    @property
    def written(self) -> str:
        """As the table holds it: "2 psu 180..220 2026-11", "1 ram ddr4 64"."""
        if self.low is not None and self.high is not None:
            return f"{self.count} {self.kind} {self.low:g}..{self.high:g} {self.as_of or '-'}"
        return f"{self.count} {self.kind} {self.variant} {self.size:g}"


def read_line(written: str) -> OrderLine:
    """The other way round."""
    count, kind, *rest, last = written.split(" ")
    if rest and ".." in rest[0]:
        low, _, high = rest[0].partition("..")
        dated = None if last == "-" else last
        return OrderLine(kind=kind, count=int(count), low=float(low), high=float(high), as_of=dated)
    return OrderLine(kind=kind, count=int(count), variant=" ".join(rest), size=float(last))


@cache
def orders() -> Mapping[Key, tuple[OrderLine, ...]]:
    """What stands around so many cards in one machine, disks left out; none for what cannot be built."""
    found: dict[Key, tuple[OrderLine, ...]] = {}
    for row in read_rows(DATA / "orders.csv", {"cards": text, "lines": text}, required=("cards", "lines")):
        lines = tuple(read_line(one) for one in row["lines"].split("; "))
        for cards in row["cards"].split("; "):
            chip, *counts = cards.split(" ")
            found |= {(chip, int(count)): lines for count in counts}
    return found
