"""A benchmark's results."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence


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
    settings: tuple[tuple[str, str], ...] = ()  # what one must know to repeat it
    chip: str | None = None  # the device's name as its driver says
    at_s: float | None = None  # seconds since 1970
    notes: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part that was not measured, and why."""

    part: str
    why: Sentence
