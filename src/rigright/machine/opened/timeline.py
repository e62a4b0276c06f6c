"""Several logs of one machine as one line of time: what two of them tell stands in it once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from rigright.machine.system import Event

_SAME_S = 2.0  # clocks of the kernel and of what writes its lines down


def together(first: tuple[Event, ...], then: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events of both, oldest first."""
    if not first or not then:
        return first or then
    events = list(first)
    open_: dict[tuple[object, ...], list[int]] = defaultdict(list)  # places that no other event has met yet
    for place, event in enumerate(first):
        open_[_key(event)].append(place)
    for event in then:
        near = open_[_key(event)]
        meant = next((number for number in near if _is_same(events[number], event)), None)
        if meant is None:
            events.append(event)
            continue
        near.remove(meant)
        mine = events[meant]
        events[meant] = replace(
            mine,
            at_s=event.at_s if mine.at_s is None else mine.at_s,
            up_s=event.up_s if mine.up_s is None else mine.up_s,
            earlier=mine.earlier if mine.earlier is not None else event.earlier,
        )
    if all(item.at_s is not None for item in events):
        events.sort(key=lambda item: item.at_s or 0.0)
    elif all(item.up_s is not None and item.at_s is None and not item.earlier for item in events):
        events.sort(key=lambda item: item.up_s or 0.0)
    return tuple(events)


def _key(event: Event) -> tuple[object, ...]:
    return event.kind, event.pci, event.code, " ".join(event.text.split())[:160]


def _is_same(device: Event, other: Event) -> bool:
    """Whether both tell of one moment, as far as their stamps go."""
    if device.at_s is not None and other.at_s is not None:
        return abs(device.at_s - other.at_s) <= _SAME_S
    if device.up_s is not None and other.up_s is not None:
        return abs(device.up_s - other.up_s) <= _SAME_S
    return True
