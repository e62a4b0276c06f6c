"""A benchmark's results."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.record import Pairs
from rigright.base.words import Sentence

SMALLER_IS_BETTER = frozenset({"s", "bytes"})  # units of times, and of memory that a job took


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One measured figure, in SI units and bytes."""

    part: str  # file of machine/bench/parts: "gemm"
    what: str  # within the part: "bf16 8192x8192x8192", "read sequential"
    on: str  # "gpu 0", "gpu 0 -> gpu 1", "gpu all", "cpu", "/data"
    value: float  # median
    unit: str  # "flops_per_s", "bytes_per_s", "ops_per_s", "s", "ratio", "bytes", "items_per_s"
    low: float  # the least and the most of the repeats
    high: float
    repeats: int
    settings: Pairs[str, str] = ()  # what one must know to repeat it
    chip: str | None = None  # the device's name as its driver says
    at_s: float | None = None  # seconds since 1970
    notes: tuple[Sentence, ...] = ()

    def share_of(self, full: float) -> float:
        """How much of a full figure it reaches, which is below one where it is worse."""
        if self.unit in SMALLER_IS_BETTER:
            return full / self.value if self.value else 1.0
        return self.value / full

    def beats(self, other: Result) -> bool:
        """Whether it is better than another figure of the same thing."""
        return self.value < other.value if self.unit in SMALLER_IS_BETTER else self.value > other.value


SIZES = frozenset(
    (
        *("shape", "size", "buffer", "array", "file", "file system", "batch", "image", "layout", "lasted"),
        *(
            "tokens",
            "width",
            "layers",
            "threads",
            "workers",
            "connections",
            "ranks",
            "nodes",
            "jobs",
            "depth",
        ),
        *("model", "load", "requests", "engine", "backend", "bytes"),
    )
)  # settings that make another job of it; versions and the state of a link do not: they are what changes


def same_job(a: Result, b: Result) -> bool:
    """Whether two figures can be held against each other: a short run reads a smaller file."""
    alike = (a.part, a.what, a.on, a.unit) == (b.part, b.what, b.on, b.unit)
    return alike and all(
        {pair for pair in a.settings if pair[0] == size} == {pair for pair in b.settings if pair[0] == size}
        for size in SIZES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part that was not measured, and why."""

    part: str
    why: Sentence
