"""Moments of a running machine, and what was found to bind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rigright.base.words import Sentence
from rigright.doctor.record import Evidence, Step
from rigright.machine.tick import DeviceTick, HostTick

FULL = 0.7  # of what a thing can do: from there on others wait for it
WORKING, WAITING = "working", "waiting"  # the accelerators compute, or they wait to be fed
LINKS = ("network", "pcie")  # causes that cards wait for in a kernel, which counts as work


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedMoment:
    """One tick with what its parts can do at most."""

    devices: tuple[DeviceTick, ...]  # those that are used at all
    host: HostTick
    link_bytes_per_s: tuple[tuple[int, float], ...] = ()  # device -> its slot's link, one way
    net_bytes_per_s: float | None = None  # of the fastest port that is up
    disk_bytes_per_s: float | None = None  # as benched

    @property
    def busy_share(self) -> float:
        """How much of the moment the used devices had work, on average."""
        seen = [tick.busy_share for tick in self.devices if tick.busy_share is not None]
        return sum(seen) / len(seen) if seen else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that can bind."""

    name: str
    title: Sentence
    side: str
    weigh: Callable[[LimitedMoment], float | None]  # how full it is; 1: as full as can be; None: not observed
    tell: Callable[[Sequence[LimitedMoment]], Evidence]  # what was seen while it bound
    remedies: tuple[Step, ...]  # what costs nothing first


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A cause and how much of the time it bound."""

    cause: Cause
    share: float  # of the time in which anything ran
    evidence: Evidence
    seen: bool  # False: concluded, because nothing else was full

    @property
    def most_gain(self) -> float:
        """How much faster all would be, were this thing endlessly fast."""
        return 1 / (1 - self.share) if self.share < 1 else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What binds a machine over a stretch of time."""

    lasted_s: float
    moments: int  # in which something ran
    idle: int  # in which nothing did
    busy_share: float | None  # of the used devices while something ran; None: no device
    devices: tuple[int, ...] = ()
    bounds: tuple[Bound, ...] = ()  # the most binding first
    unseen: tuple[Sentence, ...] = field(default_factory=tuple)  # causes that could not be looked at
    notes: tuple[Sentence, ...] = ()
    full: frozenset[str] = frozenset()  # causes of the host with nothing left to give while it ran
