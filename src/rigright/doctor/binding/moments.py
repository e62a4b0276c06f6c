"""What a moment shows of its cards: means over them, what slows them, and whether they wait for each other.

Of cards that work together one that spins in a collective counts as busy, and yet it waits: NCCL's kernels
stay on the card until the last rank has come and the last byte is there, so that the driver says 100 %
(cupy#3557, nccl#403). What gives them away is the power meter. So a busy card that draws little, and whose
memory rests, counts as waiting where a link is full or another card is behind; else nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rigright.doctor.binding.record import FULL, LimitedMoment
from rigright.facts.faults import reasons
from rigright.machine.tick import DeviceTick, HostTick

_SPINNING, _AT_WORK = 0.3, 0.8  # of the power limit: while it spins, while it computes; by experience, no law
_BEHIND = 0.8  # of the others' busy time: a card with less is what they wait for


def drawn(device: DeviceTick) -> float | None:
    """How much of its power limit a card draws."""
    if device.power_w is None or not device.power_limit_w:
        return None
    return device.power_w / device.power_limit_w


def _may_spin(device: DeviceTick) -> bool:
    """Whether a card draws less than one at work, while its memory is not busy either."""
    share = drawn(device)
    return share is not None and share < _AT_WORK and (device.mem_busy_share or 0.0) < FULL


def working_share(moment: LimitedMoment, *, link_full: bool) -> float:
    """How much of the moment its cards were at work, as far as their power allows it."""
    busy = min(1.0, max(0.0, moment.busy_share))
    if len(moment.devices) > 1 and (last := behind(moment)) is not None:
        busy = min(busy, last.busy_share or 0.0)
    if not link_full or not all(map(_may_spin, moment.devices)):
        return busy
    shares = [share for device in moment.devices if (share := drawn(device)) is not None]
    work = (sum(shares) / len(shares) - _SPINNING) / (_AT_WORK - _SPINNING)
    return busy * min(1.0, max(0.0, work))


def behind(moment: LimitedMoment) -> DeviceTick | None:
    """The one card that all others, which may spin, wait for: it has less to do than any of them."""
    seen = sorted(
        (tick for tick in moment.devices if tick.busy_share is not None),
        key=lambda tick: tick.busy_share or 0.0,
    )
    if len(seen) < 2 or not all(map(_may_spin, seen[1:])) or not _one_job(seen):
        return None
    last, next_one = seen[0].busy_share or 0.0, seen[1].busy_share or 0.0
    return seen[0] if next_one >= FULL and last < _BEHIND * next_one else None


def _waits_for_all(moment: LimitedMoment, ticks: list[DeviceTick]) -> bool:
    """Whether the cards that are held back hold the others too: these are free, and yet draw little."""
    free = [tick for tick in moment.devices if tick not in ticks]
    return bool(ticks and free) and all(map(_may_spin, free)) and _one_job(moment.devices)


def _one_job(devices: list[DeviceTick] | tuple[DeviceTick, ...]) -> bool:
    """Whether one program of the same name runs on all cards; several jobs side by side do not wait."""
    names = [{program.name for program in tick.programs or ()} for tick in devices]
    return bool(set.intersection(*names))


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
    if _waits_for_all(moment, kept):
        return 1.0
    return len(kept) / len(ticks) if ticks else None


def percent(share: float | None) -> str:
    """A share for people; "?" where nothing was observed."""
    return "?" if share is None else f"{share:.0%}"
