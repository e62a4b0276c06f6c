"""PCIe links of GPUs: width, generation, errors."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, is_busy, query
from rigright.doctor.record import CheckInput, Confidence, Finding, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import PcieWire, accelerators, function_of, functions, is_real, slotted, wires_up
from rigright.facts.chips import chips
from rigright.facts.faults import pcie_replays
from rigright.machine.device import Device
from rigright.machine.host import PciDevice

_LEAST_MINUTES = 10.0  # since boot: before, training the links counts too
_MOST_GENS = 6
LOADED = ("pcie.link.gen.gpucurrent", "pcie.link.gen.max", "utilization.gpu")


@check(say("PCIe link errors (AER, replays)"))
def pcie_errors(case: CheckInput) -> Iterator[Verdict]:
    """PCIe replays and AER errors.

    A healthy link hardly ever replays a packet. NVIDIA's DCGM allows, per minute and lane, 0.15 replays
    at Gen1, then 0.30, 0.48, 0.96, 1.92, and 3.84 at Gen6; more means the link is failing or about to
    drop lanes. Uncorrectable errors are reported at any count: a fatal one takes the link down.

    Fault: a fatal error since boot. Warning: an uncorrectable error, or corrected ones above that rate
    since boot. Source: NVIDIA DCGM, PCIe replay thresholds (dcgm_pcie health rule); Linux AER
    statistics.
    """
    if not is_real(case):
        return
    names = {device.pci: label(device) for device in case.machine.devices if device.pci}
    replays = {device.pci: device.pcie.replays for device in case.machine.devices if device.pci}
    minutes = (case.machine.system.up_s or 0.0) / 60
    looked, is_sound = 0, True
    for function in functions(case).values():
        counts = dict(function.errors)
        resent = max(counts.get("correctable", 0), replays.get(function.address) or 0)
        if not counts and replays.get(function.address) is None:
            continue
        looked += 1
        allowed = pcie_replays().get(function.gen_max or 0)
        most = math.inf if allowed is None else math.ceil(allowed * (function.lanes_max or 1)) * minutes
        fatal, uncorrected = counts.get("fatal"), counts.get("nonfatal")
        often = minutes >= _LEAST_MINUTES and resent > most
        name = first(
            {"pcie_link.fatal": fatal, "pcie_link.uncorrected": uncorrected, "pcie_link.resent": often}
        )
        if name is not None:
            is_sound = False
            yield advise(
                name,
                about=names.get(function.address, function.address),
                count=fatal or uncorrected or resent,
                at=function.address,
                counts=", ".join(f"{kind} {count}" for kind, count in function.errors),
            )
    if looked and is_sound:
        yield Fine(says=say("no significant errors; links: {count}", count=looked))


@check(say("PCIe generation under load"))
def pcie_gen(case: CheckInput) -> Iterator[Verdict]:
    """PCIe generation of a GPU's link, judged only under load.

    An idle GPU drops to Gen1 to save power, so a low generation means nothing then; the check is skipped
    and names the command that shows it. Under load the link should run at the best generation both ends
    support. Each step down halves the bandwidth; the usual causes are a BIOS setting, a riser of an
    older generation, or a bad contact.

    Warning under load, likely: some GPUs change link speed from second to second (RTX PRO 6000: rtx6kpro
    issue 88). GPUs soldered to their CPU and virtual machines are skipped. Source: NVIDIA/NVSentinel
    issue 890; PCI Express base specification.
    """
    for device in slotted(case):
        item = function_of(case, device)
        wires = wires_up(case, item) if item is not None else ()
        running = [gen for gen in (device.pcie.gen, *(wire.below.gen for wire in wires)) if gen is not None]
        ends = (device.pcie.gen_max, device.pcie.gen_device_max, *(wire.gen_most for wire in wires))
        now = min(running, default=None)
        most = min((gen for gen in ends if gen is not None), default=None)
        see = query(device, *LOADED)
        if now is None or most is None:
            why = say("link speed not reported")
            yield NotSeen(why=why, see="sudo lspci -vv", about=label(device))
        elif now >= most:
            yield Fine(says=say("Gen{gen}", gen=now), about=label(device))
        elif is_busy(device):
            times = f"{2 ** min(most - now, _MOST_GENS):g}"
            yield advise("pcie_link.generation", device=device, now=now, most=most, times=times, see=see)
        else:
            why = say("idle at Gen{now} of Gen{most}: judged only under load", now=now, most=most)
            yield NotSeen(why=why, see=see, about=label(device), idle=True)


@check(say("PCIe link width"))
def pcie_width(case: CheckInput) -> Iterator[Verdict]:
    """PCIe width of each GPU's path to the CPU, against GPU and slot.

    A link that lost lanes keeps that width until it retrains; unlike the generation, the width never
    drops to save power. Dirty contacts, a bent riser, a sagging card or a broken lane are the usual
    causes. Host copies slow down by the same factor, and so does peer traffic without NVLink.

    Warning: fewer lanes than both ends have (sure), or fewer than the GPU has where the slot is not
    visible (likely). Every link up to the root is checked, through switches too. GPUs soldered to their
    CPU (GB10, Grace, Jetson: they report x1) and virtual machines are skipped. Source: PCI Express base
    specification; NVIDIA/NVSentinel issue 890 (down-training goes unnoticed);
    GoogleCloudPlatform/cluster-toolkit issue 5972 (false alarms on Grace).
    """
    for device in slotted(case):
        accelerator = function_of(case, device)
        wires = wires_up(case, accelerator) if accelerator is not None else ()
        yield _of_ends(device, wires) or _of_card(case, device, wires=wires)
    if not case.machine.devices and is_real(case):  # lspci alone
        soldered = {number for chip in chips() if chip.pcie_lanes is None for number in chip.pci_ids}
        for accelerator in accelerators(case):
            lanes, most = accelerator.lanes, accelerator.lanes_max or 0
            if accelerator.id in soldered or not lanes:
                continue
            if wires := wires_up(case, accelerator):
                says = say("x{lanes}", lanes=lanes)
                yield _of_ends(accelerator, wires) or Fine(says=says, about=accelerator.address)
            elif lanes < most:  # its slot is not in the text: half may be what it has
                sure: Confidence = "maybe" if 2 * lanes >= most else "likely"
                yield _narrow(accelerator, lanes=lanes, most=most, confidence=sure)


def _of_ends(device: Device | PciDevice, wires: tuple[PcieWire, ...]) -> Finding | None:
    """The first link up to the root that runs on fewer lanes than both its ends have."""
    for wire in wires:
        if wire.below.lanes and wire.lanes_most and wire.below.lanes < wire.lanes_most:
            return _narrow(device, lanes=wire.below.lanes, most=wire.lanes_most, at=wire.below.address)
    return None


def _of_card(case: CheckInput, device: Device, *, wires: tuple[PcieWire, ...]) -> Verdict:
    """The lanes that the driver reports, compared with its slot, or with the other cards."""
    lanes, most = device.pcie.lanes, device.pcie.lanes_max
    if lanes is None or most is None:
        lanes = most = wires[-1].below.lanes if wires else None
    if lanes is None or most is None:
        return NotSeen(why=say("link width not reported"), see="sudo lspci -vv", about=label(device))
    slot = wires[-1].lanes_most if wires else None
    if slot is not None and lanes < slot:
        return _narrow(device, lanes=lanes, most=slot)
    if slot is not None or lanes >= most:
        return Fine(says=say("x{lanes}", lanes=lanes), about=label(device))
    others = [
        item.pcie.lanes for item, _ in answering(case) if item.name == device.name and item is not device
    ]
    if others and all(other is None or other <= lanes for other in others):
        why = say(
            "x{lanes} of x{most}, same as the other GPUs: possibly the slot's own width",
            lanes=lanes,
            most=most,
        )
        return NotSeen(why=why, see="sudo lspci -vv | grep -E 'LnkCap:|LnkSta:'", about=label(device))
    return _narrow(device, lanes=lanes, most=most, confidence="likely" if others else "maybe")


def _narrow(
    card: Device | PciDevice,
    *,
    lanes: int,
    most: int,
    at: str | None = None,
    confidence: Confidence = "sure",
) -> Finding:
    device = card if isinstance(card, Device) else None
    at = at or (card.pci if isinstance(card, Device) else card.address)
    link = f"sudo lspci -vv -s {shlex.quote(at)} | grep -E 'LnkCap:|LnkSta:'" if at else None
    return advise(
        "pcie_link.lanes",
        device=device,
        about=None if isinstance(card, Device) else card.address,
        severity="note" if confidence == "maybe" else None,
        confidence=confidence,
        lanes=lanes,
        most=most,
        at=at or "?",
        times=f"{most / lanes:g}",
        sure=confidence == "sure",
        see=(device and query(device, "pcie.link.width.current", "pcie.link.width.max")) or link,
        verify=link,
    )
