"""Access control on switches: whether copies between cards take the short way.

Cards behind one switch can exchange through it. With access control (ACS: request or completion redirect)
on the switch's ports, every such packet goes up to the processor and down again; with the IOMMU translating
as well, some peer copies hang or come out wrong. Machines that give cards to virtual machines need both;
others do not.

Warning, on a machine of metal, where cards (or a card and a network card) stand behind one switch whose
ports redirect. Without root the setting is not seen. Source: NVIDIA's NCCL troubleshooting guide (PCI
access control services); PCI Express base specification, section 6.12.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen, step
from rigright.doctor.wires import function_of, functions, is_real
from rigright.machine.host import PciDevice

TITLE = say("copies between cards take the short way (ACS)")
SEE = "sudo lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for all switches that several cards share."""
    if not is_real(case) or len(answering(case)) < 2:
        return
    # lower ports of switches behind which several partners stand: cards, and network cards of RDMA
    known = functions(case)
    partners = [one for device, _ in answering(case) if (one := function_of(case, device)) is not None]
    rdma = {port.pci for port in case.machine.ports or () if port.kind in {"infiniband", "roce"} and port.pci}
    partners += [known[address] for address in rdma if address in known]
    tops = Counter(one.parents[1] for one in partners if len(one.parents) >= 3)
    lower = {one.parents[-1] for one in partners if len(one.parents) >= 3 and tops[one.parents[1]] > 1}
    ports = [known[address] for address in sorted(lower) if address in known]
    if not ports:
        return
    if any(unseen.what == "pci.acs" for unseen in case.machine.unseen):
        yield NotSeen(why=say("root alone may read the switches' settings"), see=SEE)
        return
    redirecting = [port for port in ports if port.acs]
    if redirecting:
        yield _finding(redirecting, virtual_iommu=case.machine.system.iommu == "on")
    else:
        yield Fine(says=say("none redirects; ports: {count}", count=len(ports)))


def _finding(ports: list[PciDevice], *, virtual_iommu: bool) -> Finding:
    named = ", ".join(port.address for port in ports[:4]) + (" ..." if len(ports) > 4 else "")
    steps = [
        step(
            say("if no virtual machine is given a card: switch ACS off in the board's firmware"),
            disturbs=True,
        ),
        as_root(
            say("or, until the next reboot, on each of the ports"),
            f"setpci -s {shlex.quote(ports[0].address)} ECAP_ACS+0x6.w=0000",
        ),
    ]
    if virtual_iommu:
        steps.append(
            step(say("and let the IOMMU pass addresses through: iommu=pt on the kernel's command line"))
        )
    return Finding(
        severity="warning",
        title=say("access control sends copies between cards through the processor"),
        evidence=seen(say("ports that redirect: {ports}", ports=named), SEE),
        why=say(
            "copies between cards, and from network cards to them, lose rate, and may hang where "
            "the IOMMU translates"
        ),
        fix=tuple(steps),
    )
