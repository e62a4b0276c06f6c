"""What a live view remembers: the last minutes of each quantity, the last events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick, LinkTick
from rigright.verbs.watch.watched import MachineMoment

KEPT, EVENTS = 300, 50
Values = deque[float | None]


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
        self._past: dict[str, Values] = {}

    def add(self, moment: MachineMoment) -> None:
        """A new moment."""
        self.moment = moment
        self.moments.append(moment)
        before, self.slowed_s = self.slowed_s, {}
        self._put("cpu", moment.tick.host.cpu_share)
        for device in moment.tick.devices:
            for name, read in _OF_DEVICE.items():
                self._put(f"{device.card}.{name}", read(device))
            self._see_links(device, moment.tick.clock_s)
            for reason in device.slowed_by or ():
                key = device.card, reason
                self.slowed_s[key] = before.get(key, moment.tick.at_s)
        for event in moment.events:
            at_s = moment.tick.at_s if event.at_s is None else event.at_s
            self.events.append((clock(at_s), event))

    def past(self, name: str) -> tuple[float | None, ...]:
        """The last values: "cpu", "gpu0.busy", "gpu0.power"."""
        return tuple(self._past.get(name, ()))

    def until(self, at_s: float) -> Recent | None:
        """The same as it was at a moment of the past; None where that is longer ago than is remembered."""
        if not self.moments or at_s < self.moments[0].tick.at_s:
            return None
        return recent_of(one for one in self.moments if one.tick.at_s <= at_s)

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

    def _put(self, name: str, value: float | None) -> None:
        self._past.setdefault(name, deque(maxlen=KEPT)).append(value)


def recent_of(moments: Iterable[MachineMoment]) -> Recent:
    """What is remembered of moments, one after another."""
    found = Recent()
    for one in moments:
        found.add(one)
    return found


def clock(at_s: float) -> str:
    """The time of day here."""
    return time.strftime("%H:%M:%S", time.localtime(at_s))


def _of_power(device: DeviceTick) -> float | None:
    if device.power_w is None or not device.power_limit_w:
        return None
    return device.power_w / device.power_limit_w


_OF_DEVICE: dict[str, Callable[[DeviceTick], float | None]] = {
    "busy": lambda device: None if device.state != "ok" else device.busy_share,
    "power": lambda device: None if device.state != "ok" else _of_power(device),
}
