"""What a live view remembers: the last minutes of each quantity, the last events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick, LinkTick
from rigright.report.readings import clock
from rigright.verbs.watch.record import MachineMoment

KEPT, EVENTS = 300, 50

LinkReading = tuple[float, tuple[LinkTick, ...]]  # when its links were read, and what they counted


class Recent:
    """Eats moments; holds the newest and a bounded past."""

    def __init__(self, moments: Iterable[MachineMoment] = ()) -> None:
        self.moments: deque[MachineMoment] = deque(maxlen=KEPT)
        self.events: deque[tuple[str, Event]] = deque(maxlen=EVENTS)
        self.links: dict[str, list[LinkReading]] = {}  # by card: the first, and the last two
        self._slowed_s: dict[tuple[str, str], float] = {}  # card and reason -> since when
        for moment in moments:
            self.add(moment)

    @property
    def moment(self) -> MachineMoment | None:
        """The newest."""
        return self.moments[-1] if self.moments else None

    def add(self, moment: MachineMoment) -> None:
        """A new moment."""
        self.moments.append(moment)
        tick = moment.tick
        slowed = {(device.card, word) for device in tick.devices for word in device.slowed_by or ()}
        self._slowed_s = {key: self._slowed_s.get(key, tick.at_s) for key in slowed}
        for device in tick.devices:
            past = self.links.setdefault(device.card, [])
            # links are not read at every moment: only what was read anew is news
            if device.links and not (past and past[-1][1] is device.links):
                self.links[device.card] = [*past[:1], *past[1:][-1:], (tick.clock_s, device.links)]
        for event in moment.events:
            self.events.append((clock(tick.at_s if event.at_s is None else event.at_s), event))

    def past(self, card: str, most: int = KEPT) -> tuple[float | None, ...]:
        """How busy a card was, moment by moment; None where it did not answer."""
        ticks = [self.moments[-place].tick for place in range(min(most, len(self.moments)), 0, -1)]
        devices = [next((device for device in tick.devices if device.card == card), None) for tick in ticks]
        return tuple(
            device.busy_share if device is not None and device.state == "ok" else None for device in devices
        )

    def slowed_for(self, device: DeviceTick, reason: str) -> float:
        """Seconds for which this has slowed a card; 0 where it does not now."""
        now_s = 0.0 if self.moment is None else self.moment.tick.at_s
        return now_s - self._slowed_s.get((device.card, reason), now_s)

    def until(self, at_s: float) -> Recent | None:
        """The same as it was at a moment of the past; None where that is longer ago than is remembered."""
        if not self.moments or at_s < self.moments[0].tick.at_s:
            return None
        return Recent(moment for moment in self.moments if moment.tick.at_s <= at_s)
