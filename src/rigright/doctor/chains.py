"""What happened one after another to one card, as one finding: AER -> link down -> Xid 79 -> Xid 154.

Findings of the log that only repeat a link of such a chain join the one of its worst Xid, which tells all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rigright.base.words import Sentence, say
from rigright.doctor.kernel_log import LINE_CHARS, when
from rigright.doctor.record import Checked, CheckInput, Evidence, Finding, Verdict
from rigright.doctor.xid import AFTER, action_of
from rigright.facts.faults import xids
from rigright.machine.pci import pci_key
from rigright.machine.system import Event

BEFORE_S, _AFTER_S = 30.0, 120.0  # around the Xid: what led to it, and what came of it
_NEAR = 12  # events, where no stamp tells the time
_HARD = ("links", "cables", "recovery", "reset", "drain", "reboot")  # actions, the hardest last
_CAUSES = {"aer", "link", "thermal"}  # told of a port above the card too
_FOLLOWS = {"xid", "driver", "nvlink", "aer"}
_KINDS = {"aer": say("PCIe error"), "driver": say("driver error"), "nvlink": say("NVLink error")}
MOST_LINKS = 12


@dataclass(frozen=True, slots=True)
class _Chain:
    """The places of its events in the log, in order, and of the Xid that it is about."""

    anchor: int
    places: tuple[int, ...]


def joined(case: CheckInput, checked: tuple[Checked, ...]) -> tuple[Checked, ...]:
    """The same, where each chain is one finding."""
    events = case.machine.events or ()
    for chain in _chains(case, events):
        checked = _with_chain(checked, chain, events=events)
    return checked


def _chains(case: CheckInput, events: tuple[Event, ...]) -> Iterator[_Chain]:
    """Of each card the chain around its worst Xid: the first that asks for the hardest action."""
    hard = [place for place, event in enumerate(events) if _is_hard(event) and not event.earlier]
    cards = dict.fromkeys(pci_key(events[place].pci) for place in hard)
    for card in cards:
        mine = [place for place in hard if pci_key(events[place].pci) == card]
        anchor = max(mine, key=lambda place: (_HARD.index(_action(events[place])), -place))
        places = tuple(
            place for place in range(len(events)) if _belongs(case, events, place=place, anchor=anchor)
        )
        if len({_name(events[place]) for place in places}) > 1:
            yield _Chain(anchor, places[:MOST_LINKS])


def _is_hard(event: Event) -> bool:
    """Whether it is an Xid after which a card does not go on by itself."""
    return event.kind == "xid" and bool(event.pci) and event.code not in AFTER and _action(event) in _HARD


def _action(event: Event) -> str:
    """What its Xid asks for, as its own line states it."""
    xid = xids().get(event.code or 0)
    return "" if xid is None else action_of(xid, [event], after=None)


def _belongs(case: CheckInput, events: tuple[Event, ...], *, place: int, anchor: int) -> bool:
    """Whether an event led to the Xid, or came of it."""
    event, xid = events[place], events[anchor]
    if place == anchor:
        return True
    gap = _gap_s(event, xid)
    near = abs(place - anchor) <= _NEAR if gap is None else -BEFORE_S <= gap <= _AFTER_S
    if not near or event.kind not in _CAUSES | _FOLLOWS:
        return False
    if event.pci is None or (event.kind == "xid" and place < anchor and not _is_hard(event)):
        return False
    if pci_key(event.pci) == pci_key(xid.pci):
        return True
    return event.kind in _CAUSES and (gap is None or gap <= 0) and _is_above(case, event.pci, card=xid.pci)


def _gap_s(event: Event, xid: Event) -> float | None:
    """Seconds from the Xid to the event; None where no stamp tells."""
    if event.at_s is not None and xid.at_s is not None:
        return event.at_s - xid.at_s
    return event.up_s - xid.up_s if event.up_s is not None and xid.up_s is not None else None


def _is_above(case: CheckInput, port: str, *, card: str | None) -> bool:
    """Whether a port leads to the card; unknown without the bus, so a neighbour of its domain is believed."""
    bus = {pci_key(device.address): device for device in case.machine.pci or ()}
    function = bus.get(pci_key(card))
    if function is not None and (function.parents or pci_key(port) in bus):
        return pci_key(port) in map(pci_key, function.parents)
    return port.partition(":")[0] == (card or "").partition(":")[0] and pci_key(port) not in {
        pci_key(device.pci) for device in case.machine.devices
    }


def _with_chain(
    checked: tuple[Checked, ...], chain: _Chain, *, events: tuple[Event, ...]
) -> tuple[Checked, ...]:
    """The findings of its links gone, but for that of its Xid, which tells them all."""
    xid = events[chain.anchor]
    inside = {events[place] for place in chain.places}
    judged: list[Checked] = []
    flag = False
    for each in checked:
        verdicts: list[Verdict] = []
        for finding in each.verdicts:
            shown = _shown_by(finding, events) if isinstance(finding, Finding) else []
            if isinstance(finding, Finding) and not flag and any(_same(event, xid) for event in shown):
                verdicts.append(_telling(finding, chain, events=events))
                flag = True
            elif not shown or not _all_inside(shown, inside, events=events):
                verdicts.append(finding)
        judged.append(replace(each, verdicts=tuple(verdicts)))
    return tuple(judged) if flag else checked


def _shown_by(finding: Finding, events: tuple[Event, ...]) -> list[Event]:
    """The events that a finding of the log shows."""
    shown = {item.shows for item in finding.evidence if isinstance(item.shows, str)}
    return [event for event in events if event.text[:LINE_CHARS] in shown]


def _same(event: Event, other: Event) -> bool:
    return (event.kind, pci_key(event.pci), event.code) == (other.kind, pci_key(other.pci), other.code)


def _all_inside(shown: list[Event], inside: set[Event], *, events: tuple[Event, ...]) -> bool:
    """Whether all that the log tells of these kinds and places stands in the chain."""
    return all(item in inside for event in shown for item in events if _same(item, event))


def _telling(finding: Finding, chain: _Chain, *, events: tuple[Event, ...]) -> Finding:
    """The finding with the chain as its first evidence, and a line of each link."""
    links = [events[place] for place in chain.places]
    names = dict.fromkeys(str(_name(event)) for event in links)
    first: dict[str, Event] = {}
    for event in links:
        first.setdefault(str(_name(event)), event)
    lines = tuple(
        Evidence(shows=say("{when}: {text}", when=when(event), text=event.text[:LINE_CHARS]))
        for event in first.values()
    )
    head = Evidence(
        shows=say("chain: {steps}", steps=" -> ".join(names)), command=finding.evidence[0].command
    )
    return replace(finding, evidence=(head, *lines))


def _name(event: Event) -> Sentence:
    if event.kind == "xid":
        return say("Xid {code}", code=event.code or 0)
    if event.kind == "aer" and ("pciehp" in event.text or "DPC" in event.text):
        return say("PCIe link down")
    return _KINDS.get(event.kind, say("{text}", text=event.kind))
