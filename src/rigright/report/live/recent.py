"""What a live view remembers: the last minutes of each quantity, the last events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from rigright.machine.system import Event
from rigright.machine.tick import DeviceTick
from rigright.report.watched import Moment

KEPT, EVENTS = 300, 50
Values = deque[float | None]


class Recent:
    """Eats moments; holds the newest and a bounded past."""

    def __init__(self) -> None:
        self.moment: Moment | None = None
        self.events: deque[tuple[str, Event]] = deque(maxlen=EVENTS)
        self._past: dict[str, Values] = {}

    def add(self, moment: Moment) -> None:
        """A new moment."""
        self.moment = moment
        self._put("cpu", moment.tick.host.cpu_share)
        for device in moment.tick.devices:
            for name, read in _OF_DEVICE.items():
                self._put(f"{device.card}.{name}", read(device))
        for event in moment.events:
            at_s = moment.tick.at_s if event.at_s is None else event.at_s
            self.events.append((clock(at_s), event))

    def past(self, name: str) -> tuple[float | None, ...]:
        """The last values: "cpu", "gpu0.busy", "gpu0.power"."""
        return tuple(self._past.get(name, ()))

    def _put(self, name: str, value: float | None) -> None:
        self._past.setdefault(name, deque(maxlen=KEPT)).append(value)


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
