"""What `bench` measured, and how each figure stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rigright.base.record import Inner, derived
from rigright.base.words import Sentence
from rigright.doctor.examine import exit_of
from rigright.doctor.reference import BaselineFigure
from rigright.machine.bench.record import Skipped
from rigright.machine.record import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """One run of the benchmarks."""

    machine: Inner[Machine]
    results: tuple[BaselineFigure, ...]
    skipped: tuple[Skipped, ...]
    titles: Inner[tuple[tuple[str, Sentence], ...]]  # of the parts, in their order
    quick: bool
    seconds: float
    stopped: bool = False  # somebody broke it off
    history: str | None = None  # the history it was added to
    saved: str | None = None
    rows: tuple[str, ...] = ()  # files of runs for `calibrate`
    notes: tuple[Sentence, ...] = ()

    @derived
    def slow(self) -> int:
        """How many figures are less than they should be."""
        return len(self.slow_results)

    @derived
    def wrong(self) -> int:
        """How many gave wrong values."""
        return len(self.wrong_results)

    @property
    def exit_code(self) -> int:
        """As of the doctor: wrong values are a fault, a slow figure is a warning."""
        severities = {"wrong": "fault", "slow": "warning"}
        return exit_of(severities.get(figure.verdict, "note") for figure in self.results)

    @property
    def slow_results(self) -> tuple[BaselineFigure, ...]:
        """What is less than it should be, the worst first."""
        figures = [figure for figure in self.results if figure.verdict in {"slow", "behind"}]
        return tuple(sorted(figures, key=lambda figure: (figure.verdict != "slow", figure.share or 0.0)))

    @property
    def wrong_results(self) -> tuple[BaselineFigure, ...]:
        """What gave wrong values."""
        return tuple(figure for figure in self.results if figure.verdict == "wrong")


class BenchPart(NamedTuple):
    """A part of the benchmarks."""

    part: str
    title: Sentence
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartList:
    """What can be measured."""

    titles: Inner[tuple[tuple[str, Sentence], ...]]
    groups: Inner[tuple[str, ...]]

    @derived
    def parts(self) -> tuple[BenchPart, ...]:
        """Each with its title and its group."""
        return tuple(
            BenchPart(*titled, group) for titled, group in zip(self.titles, self.groups, strict=True)
        )
