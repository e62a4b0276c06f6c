"""Accelerators that the bus shows and no driver offers.

A card on the bus without a driver, or one whose driver does not list it, cannot be used: the driver is not
installed or not loaded, does not know the card (too old), failed to start it (GSP firmware, power cables),
or the card was handed to a virtual machine (vfio-pci), which is meant. A card that its driver lists and that
does not answer, not even with its address, has a check of its own (gpu_answers).

Fault where no driver is bound or the driver leaves the card out. Source: guides' `lspci | grep -i nvidia`
held against NVML; NVIDIA XID 143 (initialisation failed), 54 (power cable).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import see_kernel_log
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, as_root, step
from rigright.doctor.stack import NVIDIA, has_no_driver
from rigright.doctor.wires import accelerators, functions, left_out, silent_places
from rigright.facts.chips import chips
from rigright.machine.host import PciDevice

TITLE = say("every accelerator on the bus is offered by its driver")
_MAKERS = {"nvidia": "10de", "amd": "1002", "intel": "8086"}
HANDED_ON = {"vfio-pci", "pci-stub", "xen-pciback"}


def _is_told(case: Case, one: PciDevice) -> bool:
    """Whether the driver as a whole is missing, which has a check of its own (gpu_driver)."""
    return one.driver is None and one.id.startswith(NVIDIA) and has_no_driver(case.machine.software)


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card on the bus that is missing, else one for all."""
    known = {number: chip for chip in chips() for number in chip.pci_ids}
    silent = {place.address for _, place in silent_places(case)}
    missing = [one for one in left_out(case) if one.address not in silent and one.driver not in HANDED_ON]
    container = case.machine.system.is_contained
    makers = {_MAKERS.get(device.vendor) for device in case.machine.devices}
    told = any(one.driver is not None for one in functions(case).values())  # lspci -nn tells of no driver
    unasked = [one for one in missing if not told or (one.driver is not None and one.id[:4] not in makers)]
    if unasked and not container:
        why = say("the driver of {count} on the bus lists nothing, or was not asked", count=len(unasked))
        yield NotSeen(why=why, see="nvidia-smi -L")
    for one in missing:
        if one not in unasked and not (container and one.driver is not None) and not _is_told(case, one):
            chip = known.get(one.id)
            name = chip.name if chip is not None else one.name or one.id
            has_driver = one.driver is not None
            without = say("{name}: on the bus, and without a driver", name=name)
            unlisted = say("{name}: on the bus, and its driver does not offer it", name=name)
            install = step(say("install the driver that goes with this card and system"), "rigright setup")
            load = as_root(say("if it is installed, load it and read what it says"), "modprobe nvidia")
            start = step(
                say("check the power cables of the card, then switch the machine off and on"), disturbs=True
            )
            yield Finding(
                severity="fault",
                title=unlisted if has_driver else without,
                evidence=(
                    Evidence(
                        shows=say("the bus shows it at {at}", at=one.address),
                        command=f"lspci -nnk -s {shlex.quote(one.address)}",
                    ),
                    Evidence(
                        shows=say("the driver's list is without it"),
                        command="nvidia-smi -L" if one.id[:4] == "10de" else None,
                    ),
                ),
                why=say("nothing can run on this card"),
                fix=(see_kernel_log(), start)
                if has_driver
                else (install, *((load,) if one.id[:4] == "10de" else ())),
                verify="nvidia-smi -L"
                if one.id[:4] == "10de"
                else f"lspci -nnk -s {shlex.quote(one.address)}",
                about=one.address,
            )
    if accelerators(case) and not missing and not silent:
        yield Fine(says=say("all offered; on the bus: {count}", count=len(accelerators(case))))
