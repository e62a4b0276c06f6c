"""What each chip architecture can do: number formats, sparsity, attention kernels, links."""

from __future__ import annotations

from functools import cache

from rigright.base.record import dataclass
from rigright.base.tables import DATA, read_rows, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """One architecture. Number formats: "y", "n", or how far."""

    architecture: str
    isa: tuple[str, ...]  # "8.6", "gfx942"
    matrix_unit: str | None
    fp16: str
    bf16: str
    tf32: str
    fp8: str
    fp4: str
    int8: str
    int4: str
    sparsity: str
    flash_attention: str
    link: str
    examples: str
    stack: str
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def is_ended(self) -> bool:
        """Whether new software knows it no more: `stack` then is the last that did."""
        return self.stack[0].isdigit() or self.stack.endswith("(last)")


_WORDS = (
    *("architecture", "matrix_unit", "fp16", "bf16", "tf32", "fp8", "fp4", "int8", "int4", "sparsity"),
    *("flash_attention", "link", "examples", "stack", "source", "as_of", "confidence", "notes"),
)


@cache
def features() -> tuple[Features, ...]:
    """Every architecture of the table, in its order."""
    readers = {"isa": lambda cell: tuple(cell.split())} | dict.fromkeys(_WORDS, text)
    required = tuple(word for word in _WORDS if word not in {"matrix_unit", "notes"})
    rows = read_rows(DATA / "features.csv", readers, required=required)
    return tuple(Features(**row | {"isa": row["isa"] or ()}) for row in rows)


def features_of(isa: str | None) -> Features | None:
    """The architecture of a compute capability or gfx name."""
    return next((found for found in features() if isa is not None and isa in found.isa), None)
