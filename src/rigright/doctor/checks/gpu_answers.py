"""Whether each accelerator answers its driver.

A card that is lost has fallen off the bus (XID 79), or its firmware has died (XID 119, 120): programs on it
are gone, and new ones fail. A card that hangs makes every tool that asks it wait; this one asks through a
child process under a time limit, and says so. A question that ends the process that asks is told as that.

Any such state is a fault. Sources: NVML's return codes 15 (GPU is lost) and 10 (timeout); NVIDIA's XID
catalog.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import label, reboot, reset, see_denied, see_kernel_log
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, step
from rigright.doctor.wires import silent_places
from rigright.machine.device import Device
from rigright.machine.nvml.codes import DIED
from rigright.machine.nvml.codes import why as told
from rigright.machine.record import Unseen

TITLE = say("every accelerator answers")
DEADLY = told(DIED)


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    places = {device.index: place.address for device, place in silent_places(case)}
    for device in case.machine.devices:
        place = device.pci or places.get(device.index)
        if device.state == "lost":
            yield _lost(device, place)
        elif device.state == "hung":
            # the question about this card that ended the process that asked it
            own = f"devices.{device.index}."
            deadly = next(
                (one for one in case.machine.unseen if one.what.startswith(own) and one.why == DEADLY), None
            )
            yield _hung(device, place) if deadly is None else _kills(device, place, asked=deadly)
        elif device.state == "denied":
            why = say("the driver refuses to tell us")
            yield NotSeen(why=why, see=see_denied(case.machine), about=label(device))
        elif device.state == "slow":
            why = say("the driver was so slow that not all was read of it; persistence mode makes it faster")
            yield NotSeen(why=why, see="nvidia-smi", about=label(device))
        elif device.state == "ok":
            yield Fine(says=say("it answers"), about=label(device))


def _on_the_bus(place: str | None) -> tuple[Evidence, ...]:
    """What else looks at the card, without its driver."""
    if place is None:
        return ()
    return (
        Evidence(
            shows=say("its place on the bus is {at}", at=place), command=f"lspci -nnk -s {shlex.quote(place)}"
        ),
    )


def _lost(device: Device, place: str | None) -> Finding:
    return Finding(
        severity="fault",
        title=say("the card is lost: the driver cannot reach it any more"),
        evidence=(
            Evidence(
                shows=say("its driver answers with an error where {pci} should be", pci=place or "?"),
                command="nvidia-smi -L" if device.vendor == "nvidia" else None,
            ),
            *_on_the_bus(place),
        ),
        why=say("what ran on it has died, and jobs that use all cards of this machine will fail to start"),
        fix=(
            see_kernel_log(),
            step(say("drain the machine: let no new work start here")),
            reboot(),
            step(say("if it comes back, check power cables, seating and temperature; repeated: replace it")),
        ),
        about=label(device),
    )


def _kills(device: Device, place: str | None, *, asked: Unseen) -> Finding:
    what = asked.what.removeprefix(f"devices.{device.index}.")
    return Finding(
        severity="fault",
        title=say("a question about the card kills the program that asks it"),
        evidence=(
            Evidence(shows=say("{what}: {why}", what=what, why=asked.why), command=asked.see),
            *_on_the_bus(place),
        ),
        why=say("monitors and jobs that ask the same die with it"),
        fix=(see_kernel_log(), reset(device), reboot()),
        about=label(device),
    )


def _hung(device: Device, place: str | None) -> Finding:
    return Finding(
        severity="fault",
        title=say("the card hangs: the driver did not answer about it in time"),
        evidence=(
            Evidence(
                shows=say("the call was ended after its time limit; other tools would wait for ever"),
                command=f"timeout 10 nvidia-smi -i {device.index}" if device.vendor == "nvidia" else None,
            ),
            *_on_the_bus(place),
        ),
        why=say("programs on it wait without end, and so does every monitor that asks it"),
        fix=(see_kernel_log(), reset(device), reboot()),
        about=label(device),
    )
