"""What `bench` measured, and how each figure stands."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence
from rigright.doctor.held import Held
from rigright.machine.bench.record import Skipped
from rigright.machine.record import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun:
    """One run of the benchmarks."""

    machine: Machine
    held: tuple[Held, ...]
    skipped: tuple[Skipped, ...]
    titles: tuple[tuple[str, Sentence], ...]  # of the parts, in their order
    quick: bool
    seconds: float
    stopped: bool = False  # somebody broke it off
    kept: str | None = None  # the history it was added to
    saved: str | None = None
    rows: tuple[str, ...] = ()  # files of runs for `calibrate`
    notes: tuple[Sentence, ...] = ()

    TOLD = """
        below_baseline!{on=about says=title}  # with `--baseline`: what does not reach it
        quick stopped seconds slow=n_slow wrong=n_wrong results=held skipped history=kept saved rows notes
    """

    @property
    def n_slow(self) -> int:
        """How many figures are less than they should be."""
        return len(self.slow)

    @property
    def n_wrong(self) -> int:
        """How many gave wrong values."""
        return len(self.wrong)

    @property
    def slow(self) -> tuple[Held, ...]:
        """What is less than it should be, the worst first."""
        found = [one for one in self.held if one.verdict in {"slow", "behind"}]
        return tuple(sorted(found, key=lambda one: (one.verdict != "slow", one.share or 0.0)))

    @property
    def wrong(self) -> tuple[Held, ...]:
        """What gave wrong values."""
        return tuple(one for one in self.held if one.verdict == "wrong")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartList:
    """What can be measured."""

    titles: tuple[tuple[str, Sentence], ...]
    groups: tuple[str, ...]

    TOLD = "parts{part=0.0 title=0.1 group=1}"

    @property
    def parts(self) -> tuple[tuple[tuple[str, Sentence], str], ...]:
        """Each with its title and its group."""
        return tuple(zip(self.titles, self.groups, strict=True))
