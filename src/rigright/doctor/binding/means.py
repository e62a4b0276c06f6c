"""Means over moments and devices, where something was observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rigright.doctor.binding.lockstep import waits_for_all
from rigright.doctor.binding.record import LimitedMoment
from rigright.facts.faults import reasons
from rigright.machine.tick import DeviceTick, HostTick


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    seen = [value for value in values if value is not None]
    return sum(seen) / len(seen) if seen else None


def mean_of(moments: Sequence[LimitedMoment], read: Callable[[DeviceTick], float | None]) -> float | None:
    """Of one reading over all devices and moments."""
    return mean(read(device) for moment in moments for device in moment.devices)


def mean_of_host(moments: Sequence[LimitedMoment], read: Callable[[HostTick], float | None]) -> float | None:
    """Of one reading of the host over all moments."""
    return mean(read(moment.host) for moment in moments)


def most(values: Iterable[float | None]) -> float | None:
    """The most of those that are known."""
    return max((value for value in values if value is not None), default=None)


def slowed_share(moment: LimitedMoment, words: frozenset[str]) -> float | None:
    """The share of devices held back by any of these reasons; all, where the others wait for those."""
    ticks = [tick for tick in moment.devices if tick.slowed_by is not None]
    kept = [tick for tick in ticks if not words.isdisjoint(reasons(tick.slowed_by or ()))]
    if waits_for_all(moment, kept):
        return 1.0
    return len(kept) / len(ticks) if ticks else None


def percent(share: float | None) -> str:
    """A share for people; "?" where nothing was observed."""
    return "?" if share is None else f"{share:.0%}"
