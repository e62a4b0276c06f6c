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
    found = list(first)
    open_: dict[tuple[object, ...], list[int]] = defaultdict(list)  # places that no other event has met yet
    for place, event in enumerate(first):
        open_[_key(event)].append(place)
    for event in then:
        near = open_[_key(event)]
        meant = next((one for one in near if _is_same(found[one], event)), None)
        if meant is None:
            found.append(event)
            continue
        near.remove(meant)
        mine = found[meant]
        found[meant] = replace(
            mine,
            at_s=event.at_s if mine.at_s is None else mine.at_s,
            up_s=event.up_s if mine.up_s is None else mine.up_s,
            earlier=mine.earlier if mine.earlier is not None else event.earlier,
        )
    if all(one.at_s is not None for one in found):
        found.sort(key=lambda one: one.at_s or 0.0)
    elif all(one.up_s is not None and one.at_s is None and not one.earlier for one in found):
        found.sort(key=lambda one: one.up_s or 0.0)
    return tuple(found)


def _key(event: Event) -> tuple[object, ...]:
    return event.kind, event.pci, event.code, " ".join(event.text.split())[:160]


def _is_same(one: Event, other: Event) -> bool:
    """Whether both tell of one moment, as far as their stamps go."""
    if one.at_s is not None and other.at_s is not None:
        return abs(one.at_s - other.at_s) <= _SAME_S
    if one.up_s is not None and other.up_s is not None:
        return abs(one.up_s - other.up_s) <= _SAME_S
    return True
