"""Whether the driver lets cards copy to each other directly (peer access).

Over NVLink, and over PCIe for datacentre and workstation cards, copies go from card to card; where the
driver refuses, they go through main memory at a third of the speed. On GeForce cards since Turing it always
refuses over PCIe, which is no finding. A refusal elsewhere comes from a virtual machine, from an IOMMU that
translates, or from bridges that send peer traffic up to the root (ACS).

Warning, likely; a note on cards that mostly work alone. Sources: CUDA's peer access rules, NCCL's
documentation on IOMMU and ACS; data/chip_wiring.csv says which chips may.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, as_root, seen, step
from rigright.facts.fabrics import wiring_of
from rigright.machine.host import Path

TITLE = say("cards may copy to each other directly")
_COMMAND = "nvidia-smi topo -p2p r"
MOST_SHOWN = 4


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for all pairs."""
    may = {
        device.index
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and wiring_of(chip).peer
    }
    told = [path for path in case.machine.paths or () if path.peer is not None]
    judged = [path for path in told if path.kind.startswith("NV") or {path.a, path.b} <= may]
    refused = [path for path in judged if not path.peer]
    if refused:
        yield _refused(case, refused)
    elif judged:
        yield Fine(says=say("{count} pairs", count=len(judged)))


def _refused(case: Case, refused: list[Path]) -> Finding:
    system = case.machine.system
    exchange = case.wanted is None or case.wanted.tp > 1 or case.wanted.training
    return Finding(
        severity="warning" if exchange else "note",
        title=say("the driver does not let cards copy to each other"),
        evidence=(
            *(
                Evidence(
                    shows=say("gpu {a} - gpu {b}: refused, over {kind}", a=path.a, b=path.b, kind=path.kind),
                    command=_COMMAND,
                )
                for path in refused[:MOST_SHOWN]
            ),
            *(seen(say("{count} pairs in all", count=len(refused))) if len(refused) > MOST_SHOWN else ()),
        ),
        why=say(
            "tensor parallelism and collectives go through main memory: about a "
            "third of the speed, and more delay"
        ),
        fix=(
            as_root(
                say("see whether an IOMMU translates (now: {iommu})", iommu=system.iommu or "?"),
                "dmesg | grep -iE 'iommu|dmar'",
            ),
            step(
                say(
                    "on a machine of your own, set iommu=pt on the kernel's command line, "
                    "or switch ACS off in the firmware"
                ),
                disturbs=True,
            ),
            step(say("until then plan with pipeline or data parallelism, which exchange less")),
        ),
        verify=_COMMAND,
        confidence="likely",
    )
