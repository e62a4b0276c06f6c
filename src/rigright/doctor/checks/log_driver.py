"""What drivers of accelerators wrote of failures that have no XID.

"API mismatch" (another library than module), "RmInitAdapter failed" (a card that does not start: power,
firmware, address space), "probe routine failed", an unsigned module refused, GSP gone silent, AMD's ring
timeouts and resets, Intel's hangs; and a network card whose firmware no longer answers.

Fault where a card did not start or a module was refused; warning for resets; note for what a program or
the driver itself did wrong. A card off the bus that XID 79 tells of is not told of again. Longer ago than
a week or before the last boot: one step less. Source: data/kernel_lines.csv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import reboot, reset_at
from rigright.doctor.happened import events
from rigright.doctor.log_lines import by_place, finding, none_told, unseen
from rigright.doctor.record import Case, Severity, Step, Verdict, step
from rigright.machine.pci.link import pci_key
from rigright.machine.system import Event

TITLE = say("drivers report no failure")
_SETUP = "rigright setup"
_LOST_XID = 79
_FIRMWARE_XIDS, _NEAR_S = {119, 120, 154}, 120.0  # told of a GSP that is silent; how near they stand
_NUMBER = re.compile(r"\bGPU(\d{1,2})\b")
Meaning = tuple[tuple[str, ...], Severity, Sentence, Sentence, tuple[Step, ...]]
_RESET = step(say("reset the card once nothing runs on it"))  # of the card that its lines tell of
_POWER = step(say("check power plugs, seat and riser, then switch the machine off and on"), disturbs=True)
_LARGE = step(say("in the firmware, switch on addressing above 4 GiB and large BARs"))
_SIGN = step(say("see how the module can be signed"), "rigright doctor --only driver_signing")
_NEWER = step(say("change to the newest driver of its branch"), _SETUP)
_FIRMWARE = step(say("install the newest linux-firmware, then reboot"), disturbs=True)
_NEAR = step(say("move the card to a slot that hangs on the processor itself"), disturbs=True)
_KNOWS = step(say("install a branch that knows it"), _SETUP)
_PROGRAM = say("a program asked with a library of another version than the module")
_KIND = step(say("cards from Blackwell on need the open one, cards before Turing the other"), _SETUP)
_ENDED = say("the program that did it was ended")
_USELESS = say("no program can use it")
_LOST = say("what ran on it was lost")
_GONE = say("it is gone until the machine is switched off and on")
# words of a line -> severity, what happened, why it matters, what to do; the first that fits
_MEANINGS: tuple[Meaning, ...] = (
    (
        ("api mismatch",), "warning",
        say("library and kernel module of the driver did not match"), _PROGRAM, (reboot(),),
    ),
    (("fallen off the bus",), "fault", say("a card fell off the bus"), _GONE, (_POWER, reboot())),
    (
        ("rminitadapter failed", "rm_init_adapter failed"), "fault",
        say("a card did not start"), _USELESS, (_POWER, _LARGE, _NEWER),
    ),
    (
        ("i/o region",), "fault",
        say("a card has no room in the address space"), _USELESS, (_LARGE,),
    ),
    (
        ("use of the nvidia open", "open nvidia.ko"), "fault",
        say("the kernel module is of the wrong kind for a card: open or closed"), _USELESS, (_KIND,),
    ),
    (
        ("uncorrectable hardware errors",), "fault",
        say("a card made errors that it could not correct"),
        say("what ran on it may have computed wrongly"), (reboot(), _NEWER),
    ),
    (
        ("fatal error during gpu init",), "fault",
        say("the driver could not start a card"), _USELESS, (_FIRMWARE, _LARGE, _NEWER),
    ),
    (
        ("rejects atomics",), "fault",
        say("ROCm does not take a card"),
        say("its slot passes no PCIe atomics, which its firmware needs: ROCm programs do not see it"),
        (_FIRMWARE, _NEAR),
    ),
    (
        ("direct firmware load",), "note",
        say("a firmware file of a card is missing"),
        say("without some of them the card does not start, others it can do without"), (_FIRMWARE,),
    ),
    (("probe routine",), "fault", say("the driver did not take a card"), _USELESS, (_NEWER, _POWER)),
    (("not supported by",), "fault", say("the driver does not know a card"), _USELESS, (_KNOWS,)),
    (
        ("rejected", "unsigned module", "required key"), "fault",
        say("the kernel refused a module"), say("Secure Boot lets only signed modules in"), (_SIGN,),
    ),
    (
        ("needs to be reset", "reset_required", "global fatal error"), "fault",
        say("the driver says that a card needs a reset"), say("programs on it wait or die"),
        (_RESET, reboot(), _NEWER),
    ),
    (
        ("assert",), "note",
        say("the driver met with what it did not expect"),
        say("mostly harmless; it helps support where something else is wrong too"), (_NEWER,),
    ),
    (
        ("gsp", "heartbeat", "gfw"), "warning",
        say("a card's system processor failed"), say("the card may hang: programs on it die"),
        (_RESET, reboot(), _NEWER),
    ),
    (
        ("page fault", "vm fault"), "note",
        say("a card reached for memory that it may not"), _ENDED, (_NEWER,),
    ),
    (("reset",), "warning", say("a driver reset a card"), _LOST, (_NEWER,)),
    (("hang",), "warning", say("a card hung"), _LOST, (_NEWER,)),
    (("timeout",), "warning", say("a card did not answer its driver in time"), _LOST, (_NEWER,)),
    (
        ("fail",), "warning",
        say("a driver reported a failure"), say("the card may not work as it should"), (_NEWER,),
    ),
    (("fault", "killed", "error"), "warning", say("a driver ended a program"), _ENDED, (_NEWER,)),
)  # fmt: skip


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each kind of failure and card."""
    closed = unseen(case, "nvrm|amdgpu|nouveau")
    fine = none_told(case, "driver")
    if closed is not None and case.machine.devices:
        yield closed
    if fine is not None and case.machine.devices:
        yield fine
    lost = {pci_key(one.pci) for one in events(case, "xid") or [] if one.code == _LOST_XID}
    told = [_placed(case, one) for one in events(case, "driver") or [] if not _is_known(one, lost)]
    for meaning in _MEANINGS:
        _, severity, title, why, fix = meaning
        mine = [event for event in told if _meaning_of(event) is meaning]
        for place, same in by_place(mine).items():
            own = tuple(reset_at(case, place) if one is _RESET else one for one in fix)
            yield finding(case, same, title=title, why=why, fix=own, severity=severity)


def _placed(case: Case, event: Event) -> Event:
    """A line of the card's firmware that names no address, with that of its card.

    The driver counts its cards as nvidia-smi does ("GPU0 _kgspRpcRecvPoll"); older ones name none, and then
    it is the card whose XID of the firmware stands beside the line, or the only card there is.
    """
    line = event.text.lower()
    if event.pci or not any(word in line for word in ("gsp", "heartbeat", "gfw")):
        return event
    cards = [one for one in case.machine.devices if one.vendor == "nvidia" and one.pci]
    number = _NUMBER.search(event.text)
    if number is not None and cards:
        return replace(event, pci=next((one.pci for one in cards if one.index == int(number[1])), None))
    near = {
        pci_key(one.pci): one.pci
        for one in events(case, "xid") or []
        if one.code in _FIRMWARE_XIDS and one.earlier == event.earlier and _apart_s(one, event) <= _NEAR_S
    }
    if not near and len(cards) == 1:
        return replace(event, pci=cards[0].pci)
    return replace(event, pci=next(iter(near.values()))) if len(near) == 1 else event


def _apart_s(one: Event, other: Event) -> float:
    for first, second in ((one.at_s, other.at_s), (one.up_s, other.up_s)):
        if first is not None and second is not None:
            return abs(first - second)
    return float("inf")


def _is_known(event: Event, lost: set[str]) -> bool:
    """Whether it says once more that a card fell off the bus."""
    is_lost = pci_key(event.pci) in lost if event.pci else bool(lost)
    return is_lost and "fallen off the bus" in event.text


def _meaning_of(event: Event) -> Meaning | None:
    line = event.text.lower()
    return next((meaning for meaning in _MEANINGS if any(word in line for word in meaning[0])), None)
