"""What a live view remembers: the last minutes of each quantity, the last events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick, LinkTick
from rigright.verbs.watch.watched import MachineMoment

KEPT, EVENTS = 300, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksPast:
    """What the links of a card counted: when it was seen first, the last time but one, and last."""

    first: tuple[LinkTick, ...]
    now: tuple[LinkTick, ...]
    now_s: float
    before: tuple[LinkTick, ...] | None = None
    before_s: float = 0.0


class Recent:
    """Eats moments; holds the newest and a bounded past."""

    def __init__(self) -> None:
        self.moment: MachineMoment | None = None
        self.events: deque[tuple[str, Event]] = deque(maxlen=EVENTS)
        self.moments: deque[MachineMoment] = deque(maxlen=KEPT)
        self.slowed_s: dict[tuple[str, str], float] = {}  # card and reason -> since when
        self.links: dict[str, LinksPast] = {}  # by card
        self._busy: dict[str, deque[float | None]] = {}  # by card

    def add(self, moment: MachineMoment) -> None:
        """A new moment."""
        self.moment = moment
        self.moments.append(moment)
        before, self.slowed_s = self.slowed_s, {}
        for device in moment.tick.devices:
            busy = device.busy_share if device.state == "ok" else None
            self._busy.setdefault(device.card, deque(maxlen=KEPT)).append(busy)
            self._see_links(device, moment.tick.clock_s)
            for reason in device.slowed_by or ():
                key = device.card, reason
                self.slowed_s[key] = before.get(key, moment.tick.at_s)
        for event in moment.events:
            at_s = moment.tick.at_s if event.at_s is None else event.at_s
            self.events.append((clock(at_s), event))

    def past(self, card: str) -> tuple[float | None, ...]:
        """How busy a card was, moment by moment; None where it did not answer."""
        return tuple(self._busy.get(card, ()))

    def slowed_for(self, device: DeviceTick, reason: str) -> float:
        """Seconds for which this has slowed a card; 0 where it does not now."""
        now_s = 0.0 if self.moment is None else self.moment.tick.at_s
        return now_s - self.slowed_s.get((device.card, reason), now_s)

    def until(self, at_s: float) -> Recent | None:
        """The same as it was at a moment of the past; None where that is longer ago than is remembered."""
        if not self.moments or at_s < self.moments[0].tick.at_s:
            return None
        return recent_of(
            machine_moment for machine_moment in self.moments if machine_moment.tick.at_s <= at_s
        )

    def _see_links(self, device: DeviceTick, clock_s: float) -> None:
        """Links are not read at every moment: only what was read anew is news."""
        links, past = device.links, self.links.get(device.card)
        if not links or (past is not None and links is past.now):
            return
        if past is None:
            self.links[device.card] = LinksPast(first=links, now=links, now_s=clock_s)
        else:
            self.links[device.card] = replace(
                past, before=past.now, before_s=past.now_s, now=links, now_s=clock_s
            )


def recent_of(moments: Iterable[MachineMoment]) -> Recent:
    """What is remembered of moments, one after another."""
    recent = Recent()
    for machine_moment in moments:
        recent.add(machine_moment)
    return recent


def clock(at_s: float) -> str:
    """The time of day here."""
    return time.strftime("%H:%M:%S", time.localtime(at_s))
