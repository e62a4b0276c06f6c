"""Links of cards to the processor: lanes, generation, errors."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, is_busy, query
from rigright.doctor.record import Case, Confidence, Finding, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import Wire, function_of, functions, is_real, slotted, wires_up
from rigright.machine.device import Device

REPLAYS_A_MINUTE_AND_LANE = {1: 0.15, 2: 0.30, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}
LEAST_MINUTES = 10.0  # since boot: before, training the links counts too
MOST_GENS = 6
LOADED = ("pcie.link.gen.gpucurrent", "pcie.link.gen.max", "utilization.gpu")


@check(say("errors on the links"))
def pcie_errors(case: Case) -> Iterator[Verdict]:
    """Errors of the links: packets sent again, and errors the bus could not mend.

    A healthy link sends hardly a packet again. NVIDIA's own monitor allows, a minute and lane, 0.15 replays
    at generation 1, 0.30, 0.48, 0.96, 1.92, and 3.84 at generation 6; more is a link about to fail or to
    drop lanes. Errors that were not corrected are told at any number: a fatal one ends the link.

    Fault: a fatal error since boot. Warning: an uncorrected error, or corrected ones faster than that rate
    since boot. Source: NVIDIA DCGM, PCIe replay thresholds (dcgm_pcie health rule); Linux AER statistics.
    """
    if not is_real(case):
        return
    names = {device.pci: label(device) for device in case.machine.devices if device.pci}
    replays = {device.pci: device.pcie.replays for device in case.machine.devices if device.pci}
    minutes = (case.machine.system.up_s or 0.0) / 60
    looked, is_sound = 0, True
    for one in functions(case).values():
        counts = dict(one.errors)
        resent = max(counts.get("correctable", 0), replays.get(one.address) or 0)
        if not counts and replays.get(one.address) is None:
            continue
        looked += 1
        allowed = REPLAYS_A_MINUTE_AND_LANE.get(one.gen_max or 0)
        most = math.inf if allowed is None else math.ceil(allowed * (one.lanes_max or 1)) * minutes
        fatal, uncorrected = counts.get("fatal"), counts.get("nonfatal")
        often = minutes >= LEAST_MINUTES and resent > most
        name = first(
            {"pcie_link.fatal": fatal, "pcie_link.uncorrected": uncorrected, "pcie_link.resent": often}
        )
        if name is not None:
            is_sound = False
            yield advise(
                name,
                about=names.get(one.address, one.address),
                count=fatal or uncorrected or resent,
                at=one.address,
                counts=", ".join(f"{kind} {count}" for kind, count in one.errors),
            )
    if looked and is_sound:
        yield Fine(says=say("no errors of weight; links: {count}", count=looked))


@check(say("generation of the link, under load"))
def pcie_gen(case: Case) -> Iterator[Verdict]:
    """The generation a card's link runs at, judged under load alone.

    A resting card drops to generation 1 to save power, so a low one means nothing then: it is not observed,
    and what would show it is said. Under load both ends' best generation should run. A lower one halves the
    rate of copies a step, and mostly comes from a setting of the board's firmware, a riser of an older
    generation, or a bad contact.

    Warning under load, likely: some cards change their speed from second to second (RTX PRO 6000: rtx6kpro
    issue 88). Nothing is said of cards soldered to their processor, nor in a virtual machine. Source:
    NVIDIA/NVSentinel issue 890; PCI Express base specification.
    """
    for device in slotted(case):
        one = function_of(case, device)
        wires = wires_up(case, one) if one is not None else ()
        running = [gen for gen in (device.pcie.gen, *(wire.below.gen for wire in wires)) if gen is not None]
        ends = (device.pcie.gen_max, device.pcie.gen_device_max, *(wire.gen_most for wire in wires))
        now = min(running, default=None)
        most = min((gen for gen in ends if gen is not None), default=None)
        see = query(device, *LOADED)
        if now is None or most is None:
            why = say("nobody tells the speed of its link")
            yield NotSeen(why=why, see="sudo lspci -vv", about=label(device))
        elif now >= most:
            yield Fine(says=say("generation {gen}", gen=now), about=label(device))
        elif is_busy(device):
            times = f"{2 ** min(most - now, MOST_GENS):g}"
            yield advise("pcie_link.generation", device=device, now=now, most=most, times=times, see=see)
        else:
            why = say(
                "it rests: at generation {now} of {most}, which says nothing without load", now=now, most=most
            )
            yield NotSeen(why=why, see=see, about=label(device), idle=True)


@check(say("lanes between cards and processor"))
def pcie_width(case: Case) -> Iterator[Verdict]:
    """Lanes of each card's way to the processor: fewer than card and slot have.

    A link that lost lanes stays so until it is trained anew; unlike the generation, the width never drops to
    save power. A dirty contact, a bent riser, a card that sags, or a broken lane are the usual reasons.
    Copies to the card take as much longer as lanes are gone, and so does every exchange between cards
    without a direct link.

    Warning where fewer lanes run than both ends have (sure), or fewer than the card has where the slot could
    not be seen (likely). Every link up to the root is looked at, through switches too. Nothing is said of
    cards soldered to their processor (GB10, Grace, Jetson: they report x1), nor in a virtual machine.
    Source: PCI Express base specification; NVIDIA/NVSentinel issue 890 (down-training goes unnoticed);
    GoogleCloudPlatform/cluster-toolkit issue 5972 (false alarms on Grace).
    """
    for device in slotted(case):
        one = function_of(case, device)
        wires = wires_up(case, one) if one is not None else ()
        yield _of_ends(device, wires) or _of_card(case, device, wires=wires)


def _of_ends(device: Device, wires: tuple[Wire, ...]) -> Finding | None:
    """The first link up to the root that runs on fewer lanes than both its ends have."""
    for wire in wires:
        if wire.below.lanes and wire.lanes_most and wire.below.lanes < wire.lanes_most:
            return _narrow(device, lanes=wire.below.lanes, most=wire.lanes_most, at=wire.below.address)
    return None


def _of_card(case: Case, device: Device, *, wires: tuple[Wire, ...]) -> Verdict:
    """What the driver tells of its lanes, held against its slot, or against the other cards."""
    lanes, most = device.pcie.lanes, device.pcie.lanes_max
    if lanes is None or most is None:
        lanes = most = wires[-1].below.lanes if wires else None
    if lanes is None or most is None:
        return NotSeen(
            why=say("nobody tells the lanes of its link"), see="sudo lspci -vv", about=label(device)
        )
    slot = wires[-1].lanes_most if wires else None
    if slot is not None and lanes < slot:
        return _narrow(device, lanes=lanes, most=slot)
    if slot is not None or lanes >= most:
        return Fine(says=say("{lanes} lanes", lanes=lanes), about=label(device))
    others = [one.pcie.lanes for one, _ in answering(case) if one.name == device.name and one is not device]
    if others and all(other is None or other <= lanes for other in others):
        why = say(
            "{lanes} of {most} lanes, as the others have: perhaps all its slot has", lanes=lanes, most=most
        )
        return NotSeen(why=why, see="sudo lspci -vv | grep -E 'LnkCap:|LnkSta:'", about=label(device))
    return _narrow(device, lanes=lanes, most=most, confidence="likely" if others else "maybe")


def _narrow(
    device: Device, *, lanes: int, most: int, at: str | None = None, confidence: Confidence = "sure"
) -> Finding:
    at = at or device.pci
    link = f"sudo lspci -vv -s {shlex.quote(at)} | grep -E 'LnkCap:|LnkSta:'" if at else None
    return advise(
        "pcie_link.lanes",
        device=device,
        severity="note" if confidence == "maybe" else None,
        confidence=confidence,
        lanes=lanes,
        most=most,
        at=at or "?",
        times=f"{most / lanes:g}",
        sure=confidence == "sure",
        see=query(device, "pcie.link.width.current", "pcie.link.width.max") or link,
        verify=link,
    )
