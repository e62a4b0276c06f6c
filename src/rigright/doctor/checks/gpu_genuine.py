"""Whether a card is what it says: cores and memory bus against the chip of that name.

Cards are sold under the name of a larger one with changed firmware, and names in drivers can be wrong. What
the driver counts (multiprocessors, width of the memory bus) is held against the facts of the chip that name
and PCI id mean. Fewer than 97 % of the multiprocessors, or a narrower bus: warning, likely. A virtual share
of a card (vGPU) and MIG slices are left out.

Source: data/chips.csv, each row with its source.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, step
from rigright.facts.chips import Chip
from rigright.machine.device import Device

TITLE = say("a card is what it says")
LEAST_SHARE = 0.97


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card."""
    for device, chip in answering(case, vendor="nvidia"):
        if chip is None:
            yield NotSeen(
                why=say("no such chip is in our tables: {name}", name=device.name or device.pci_id or "?"),
                see="rigright look-up chips",
                about=label(device),
            )
            continue
        lacks = [] if device.mig else list(_lacks(device, chip))
        if lacks:
            yield Finding(
                severity="warning",
                title=say("the card has less than the chip it says it is"),
                evidence=tuple(
                    Evidence(shows=one, command=f"nvidia-smi -q -i {device.index}") for one in lacks
                ),
                why=say(
                    "it is another card under that name, or parts of it are switched off: "
                    "it will be slower than {chip}",
                    chip=chip.name,
                ),
                fix=(
                    step(say("compare the PCI id with the name"), "lspci -d 10de: -nn"),
                    step(
                        say("measure it against what such a card reaches"),
                        "rigright bench gemm device_memory",
                    ),
                ),
                verify=f"nvidia-smi -q -i {device.index}",
                confidence="likely",
                about=label(device),
            )
        elif device.sms is not None or device.bus_bits is not None:
            yield Fine(says=say("as {chip} should be", chip=chip.name), about=label(device))


def _lacks(device: Device, chip: Chip) -> Iterator[Sentence]:
    if device.sms and chip.sms and device.sms < LEAST_SHARE * chip.sms / chip.devices:
        yield say(
            "{here} multiprocessors, {chip} has {there}", here=device.sms, chip=chip.name, there=chip.sms
        )
    if device.bus_bits and chip.bus_bits and device.bus_bits < chip.bus_bits / chip.devices:
        yield say(
            "a memory bus of {here} bits, {chip} has {there}",
            here=device.bus_bits,
            chip=chip.name,
            there=chip.bus_bits,
        )
