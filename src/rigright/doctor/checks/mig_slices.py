"""Cards cut into slices (MIG): whether there are slices, and whether a plan can use them.

With MIG on and no slice, no program can use the card (warning). Slices do not reach each other: NVLink and
peer copies are off, so a plan that spreads a model over several cards does not run on them (fault with such
a plan).

Source: NVIDIA's MIG user guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Finding, Fine, Step, Verdict, as_root, seen, step
from rigright.machine.device import Device

TITLE = say("slices of cards (MIG)")
_LIST = "nvidia-smi mig -lgi"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card that is cut."""
    for device, _ in answering(case, vendor="nvidia"):
        if not device.mig:
            continue
        if not device.slices:
            yield Finding(
                severity="warning",
                title=say("MIG is on, and there is no slice: no program can use the card"),
                evidence=seen(say("MIG mode on, no instance"), _LIST),
                why=say("programs see no device here, or fail at their start"),
                fix=(
                    step(say("see which slices the card offers"), f"nvidia-smi mig -i {device.index} -lgip"),
                    as_root(
                        say("make some, for example one of the whole card (profile 0)"),
                        f"nvidia-smi mig -i {device.index} -cgi 0 -C",
                    ),
                    _whole(device),
                ),
                about=label(device),
            )
        elif case.wanted is not None and case.wanted.tp > 1:
            yield _apart(device, tp=case.wanted.tp)
        else:
            told = ", ".join(one.profile or "?" for one in device.slices)
            yield Fine(
                says=say("{count} slices: {profiles}", count=len(device.slices), profiles=told),
                about=label(device),
            )


def _whole(device: Device) -> Step:
    return as_root(
        say("or use the card whole again, once nothing runs on it"),
        f"nvidia-smi -i {device.index} -mig 0",
        disturbs=True,
    )


def _apart(device: Device, *, tp: int) -> Finding:
    return Finding(
        severity="fault",
        title=say("the plan spreads layers over cards, and slices cannot reach each other"),
        evidence=seen(
            say("MIG mode on; the plan has {tp} cards exchange at every layer", tp=tp),
            query(device, "mig.mode.current"),
        ),
        why=say("NVLink and peer copies are off between slices; a program uses one slice at a time"),
        fix=(_whole(device),),
        about=label(device),
    )
