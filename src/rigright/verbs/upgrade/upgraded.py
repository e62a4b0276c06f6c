"""What to change first on a machine, as an answer."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence
from rigright.build.record import Change, Worth
from rigright.doctor.binding.judgement import JudgedCause, Judgement
from rigright.verbs.diagnosed import BottleneckReport

OLD_DAYS = 7  # from which a recording may no longer be what stands there


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Machines that get a change together, counted from one."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """The five stages: baseline, bottleneck, does it fit, cost, roll-out."""

    n_machines: int
    baseline: int  # benchmarks in the history
    shares: tuple[tuple[str, Sentence, float], ...]  # cause, its title, its share of the time
    diagnosed: BottleneckReport | None  # None: the shares were given
    judgement: Judgement  # what to mend before anything is bought
    worth: tuple[Worth, ...]  # the first ones first
    by_cause: tuple[tuple[tuple[Sentence, ...], Worth], ...]  # what helps first if these bind; nothing ran
    refused: tuple[Change, ...]  # what would help and does not fit
    over_budget: int
    waves: tuple[Wave, ...]
    age_days: int | None = None  # of the recording that was asked about; None: of now, or not told
    cut: tuple[str, ...] = ()  # of the file that was asked about: what was read only in part

    TOLD = """
        machines=n_machines verdict! cut baseline shares=cause_shares:pairs lead=first
        recorded_days_ago=age_days findings=judgement.bad{check *finding} changes=worth by_cause{causes=0 *1}
        refused{title fits} over_budget waves
    """

    @property
    def is_snapshot(self) -> bool:
        """Whether it goes by one moment that a file shows."""
        return self.diagnosed is not None and self.diagnosed.is_snapshot

    @property
    def cause_shares(self) -> tuple[tuple[str, float], ...]:
        """What binds, and for which share of the time."""
        return tuple((name, share) for name, _, share in self.shares)

    @property
    def first(self) -> JudgedCause | None:
        """What to mend before anything is changed."""
        return self.judgement.lead if self.shares else self.judgement.first
