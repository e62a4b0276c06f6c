"""Cards cut into parts: MIG of NVIDIA's, partitions of AMD's."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, by_value, kinds, listed, odd_ones
from rigright.doctor.record import Case, Evidence, Fine, NotSeen, Verdict, check
from rigright.machine.device import Device

WHOLE = "SPX/NPS1"


@check(say("no change of MIG waits"))
def mig_pending(case: Case) -> Iterator[Verdict]:
    """Whether switching MIG on or off waits for a reset.

    The mode changes only when the card is reset, which fails silently while something holds the card, even a
    monitor. Until then tools show one mode and the next boot brings the other.

    Note. Source: NVIDIA's MIG user guide.
    """
    for device, _ in answering(case, vendor="nvidia"):
        if device.mig is None:
            continue
        if device.mig_after_reset in {None, device.mig}:
            yield Fine(says=say("none waits"), about=label(device))
        else:
            yield advise(
                "parts.mig_waits_on" if device.mig_after_reset else "parts.mig_waits_off", device=device
            )


@check(say("slices of cards (MIG)"))
def mig_slices(case: Case) -> Iterator[Verdict]:
    """Cards cut into slices (MIG): whether there are slices, and whether a plan can use them.

    With MIG on and no slice, no program can use the card (warning). Slices do not reach each other: NVLink
    and peer copies are off, so a plan that spreads a model over several cards does not run on them (fault
    with such a plan).

    Source: NVIDIA's MIG user guide.
    """
    for device, _ in answering(case, vendor="nvidia"):
        if not device.mig:
            continue
        if not device.slices:
            yield advise("parts.no_slice", device=device)
        elif case.wanted is not None and case.wanted.tp > 1:
            yield advise("parts.slices_apart", device=device, tp=case.wanted.tp)
        else:
            told = ", ".join(one.profile or "?" for one in device.slices)
            says = say("{count} slices: {profiles}", count=len(device.slices), profiles=told)
            yield Fine(says=says, about=label(device))


def mode_of(device: Device) -> str:
    """How a card of AMD is cut."""
    return device.slices[0].profile or "?" if device.slices else WHOLE


@check(say("parts that AMD's cards are cut into"))
def gpu_partitions(case: Case) -> Iterator[Verdict]:
    """Cards of AMD that are cut into parts (MI300 and later: DPX, TPX, QPX, CPX; memory NPS1 to NPS8).

    Programs see each part as a card, with its share of compute units and memory: 8 of 38 units and 24 GB of
    one MI300X in CPX. Tools count them so too. That is right for many small models, and wrong for a plan
    that counts whole cards: its first layer does not fit.

    A plan for whole cards on cards that are cut: warning. Cards of one kind cut in different ways: note; AMD
    advises against mixed modes of memory in one machine. Source: AMD Instinct MI300X GPU partitioning
    overview.
    """
    cut = [device for device, _ in answering(case, vendor="amd") if device.slices]
    for device in cut:
        mode, count = mode_of(device), len(device.slices)
        if case.wanted is not None and case.wanted.chips:
            whole = {"one_memory": "NPS1" in mode, "one_part": "SPX" in mode}
            yield advise("parts.cut", whole, device=device, count=count, mode=mode)
        elif any(part.mem_total_bytes is None for part in device.slices):
            why = say("how much memory its parts have is not told")
            yield NotSeen(why=why, see="rocminfo", about=label(device))
        else:
            yield Fine(says=say("{count} parts: {mode}", count=count, mode=mode), about=label(device))
    for devices in kinds(case):
        odd = odd_ones(by_value(devices, [mode_of(device) for device in devices]))
        if odd is not None and any(device in cut for device in devices):
            usual, others = odd
            modes = tuple(
                Evidence(shows=f"{label(one)}: {mode_of(one)}", command="amd-smi static --partition")
                for one in others
            )
            yield advise("parts.unlike", about=listed(others), modes=modes, value=usual)
