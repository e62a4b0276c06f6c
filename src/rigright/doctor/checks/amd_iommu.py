"""Whether an IOMMU that translates stands between several cards of AMD.

Cards of AMD exchange over PCIe by reading each other's memory. An IOMMU that translates every address in
between makes that slow, and on many boards makes programs on two or more cards hang at their first exchange
(RCCL, "Memory access fault by GPU node"). AMD asks for `iommu=pt` on machines with several cards: devices of
the machine itself then pass, and virtual machines stay separated.

Several cards and a translating IOMMU on a machine of metal: warning. Source: ROCm documentation, system
optimisation of Instinct accelerators and known issues of several Radeons: iommu=pt.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, reboot
from rigright.doctor.kernel_line import SHOW, with_option
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen
from rigright.doctor.stack import is_contained

TITLE = say("the IOMMU lets AMD's cards reach each other")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine with several cards of AMD."""
    system = case.machine.system
    cards = [
        device
        for device, chip in answering(case, vendor="amd")
        if chip is not None and not device.unified_memory
    ]
    if len(cards) < 2 or system.is_virtual or is_contained(case):
        return
    if system.iommu is None:
        yield NotSeen(why=say("whether an IOMMU translates is not told"), see=SHOW)
    elif system.iommu == "on":
        yield Finding(
            severity="warning",
            title=say("an IOMMU translates between {count} cards of AMD", count=len(cards)),
            evidence=seen(say("IOMMU: {state}", state=case.machine.system.iommu), SHOW),
            why=say("exchange between the cards is slow, and on many boards programs hang at it"),
            fix=(with_option(case, "iommu=pt"), reboot()),
            confidence="likely",
        )
    else:
        yield Fine(says=say("IOMMU: {state}", state=system.iommu))
