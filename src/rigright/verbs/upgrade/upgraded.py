"""What to change first on a machine, as an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from rigright.base.record import Flat, Inner, Pairs, derived
from rigright.base.words import Sentence
from rigright.build.change import Change, Worth
from rigright.doctor.binding.judgement import JudgedCause, Judgement
from rigright.doctor.examine import exit_of
from rigright.doctor.record import CheckFinding
from rigright.verbs.diagnosed import BottleneckReport

OLD_DAYS = 7  # from which a recording may no longer be what stands there
_SHARES = (0.05, 0.25, 1.0)  # of the machines that have a change after each wave; one machine comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Machines that get a change together, counted from one."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many."""
        return self.last - self.first + 1


def waves(n_machines: int) -> tuple[Wave, ...]:
    """How a change is rolled out: one machine first, then waves that grow, each proven before the next."""
    done, result = 0, []
    for total in (1, *(math.ceil(share * n_machines) for share in _SHARES)):
        if total > done:
            result.append(Wave(first=done + 1, last=total))
            done = total
    return tuple(result)


class CauseHelp(NamedTuple):
    """What helps first where these bind."""

    causes: tuple[Sentence, ...]
    change: Flat[Worth]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """The five stages: baseline, bottleneck, does it fit, cost, roll-out."""

    machines: int
    baseline: int  # benchmarks in the history
    cause_rows: Inner[tuple[tuple[str, Sentence, float], ...]]  # cause, its title, its share of the time
    diagnosed: Inner[BottleneckReport | None]  # None: the shares were given
    judgement: Inner[Judgement]  # what to mend before anything is bought
    changes: tuple[Worth, ...]  # the first ones first
    by_cause: tuple[CauseHelp, ...]  # what helps first if these bind; nothing ran
    refused: tuple[Change, ...]  # what would help and does not fit
    over_budget: int
    waves: tuple[Wave, ...]
    currency: str = "USD"  # of every amount that is shown
    recorded_days_ago: int | None = None  # of the recording that was asked about; None: of now, or not stated
    cut: tuple[str, ...] = ()  # of the file that was asked about: what was read only in part

    @derived
    def findings(self) -> tuple[CheckFinding, ...]:
        """What to mend before anything is bought."""
        return tuple(CheckFinding(cause.check, cause.finding) for cause in self.judgement.bad)

    @property
    def is_snapshot(self) -> bool:
        """Whether it goes by one moment that a file shows."""
        return self.diagnosed is not None and self.diagnosed.is_snapshot

    @derived
    def shares(self) -> Pairs[str, float]:
        """What binds, and for which share of the time."""
        return tuple((name, share) for name, _, share in self.cause_rows)

    @derived
    def lead(self) -> JudgedCause | None:
        """What to mend before anything is changed."""
        return self.judgement.first

    @property
    def exit_code(self) -> int:
        """As of the doctor: by the worst that is to be mended first."""
        return exit_of(cause.severity for cause in self.judgement.bad)
