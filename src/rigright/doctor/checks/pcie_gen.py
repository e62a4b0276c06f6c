"""The generation a card's link runs at, judged under load alone.

A resting card drops to generation 1 to save power, so a low one means nothing then: it is not observed, and
what would show it is said. Under load both ends' best generation should run. A lower one halves the rate of
copies a step, and mostly comes from a setting of the board's firmware, a riser of an older generation, or a
bad contact.

Warning under load, likely: some cards change their speed from second to second (RTX PRO 6000: rtx6kpro
issue 88). Nothing is said of cards soldered to their processor, nor in a virtual machine. Source:
NVIDIA/NVSentinel issue 890; PCI Express base specification.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import is_busy, label, query
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step
from rigright.doctor.wires import function_of, slotted, wires_up
from rigright.machine.device import Device

TITLE = say("generation of the link, under load")
MOST_GENS = 6
_FIELDS = ("pcie.link.gen.gpucurrent", "pcie.link.gen.max", "utilization.gpu")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    yield from (_of_card(case, device) for device in slotted(case))


def _of_card(case: Case, device: Device) -> Verdict:
    one = function_of(case, device)
    wires = wires_up(case, one) if one is not None else ()
    running = [gen for gen in (device.pcie.gen, *(wire.below.gen for wire in wires)) if gen is not None]
    ends = (device.pcie.gen_max, device.pcie.gen_device_max, *(wire.gen_most for wire in wires))
    now = min(running, default=None)
    most = min((gen for gen in ends if gen is not None), default=None)
    if now is None or most is None:
        return NotSeen(
            why=say("nobody tells the speed of its link"), see="sudo lspci -vv", about=label(device)
        )
    if now >= most:
        return Fine(says=say("generation {gen}", gen=now), about=label(device))
    if not is_busy(device):
        why = say(
            "it rests: at generation {now} of {most}, which says nothing without load", now=now, most=most
        )
        return NotSeen(why=why, see=query(device, *_FIELDS), about=label(device), idle=True)
    return Finding(
        severity="warning",
        title=say("the link runs at generation {now} of {most} under load", now=now, most=most),
        evidence=seen(
            say("generation {now} of {most} while it is busy", now=now, most=most), query(device, *_FIELDS)
        ),
        why=say(
            "copies to and from this card take {times} times as long, and jobs over several cards "
            "wait for it",
            times=f"{2 ** min(most - now, MOST_GENS):g}",
        ),
        fix=(
            step(say("look again a few times under load: it should not stay there")),
            step(
                say(
                    "in the board's firmware set the slot's speed to auto or to generation {most}", most=most
                ),
                disturbs=True,
            ),
            step(say("leave risers away, or take one made for generation {most}", most=most), disturbs=True),
        ),
        confidence="likely",
        about=label(device),
    )
