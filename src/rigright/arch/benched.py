"""Networks of benchmark tables without a config: their work per sample, counted once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rigright.base.tables import DATA, number, read_rows, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Benched:
    """One network; a sample is what its benchmark counts by: an image, a token, a frame."""

    word: str  # of its name
    kind: str
    params_m: float
    gmacs: float
    mactivs: float
    kernels: float  # a forward pass starts
    samples: float  # that one item of a batch makes
    source: str
    as_of: str
    notes: str


def benched(name: str) -> Benched | None:
    """The first network whose word a name has; None: not in the table."""
    lower = name.lower().replace("-", "_").replace(" ", "_")
    return next((row for row in _rows() if row.word in lower), None)


@cache
def _rows() -> tuple[Benched, ...]:
    readers = dict.fromkeys(("word", "kind", "source", "as_of", "notes"), text) | dict.fromkeys(
        ("params_m", "gmacs", "mactivs", "kernels", "samples"), number
    )
    rows = read_rows(DATA / "arch" / "benched.csv", readers, required=tuple(readers))
    return tuple(Benched(**row) for row in rows)
