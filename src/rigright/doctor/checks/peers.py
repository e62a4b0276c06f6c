"""How cards reach each other and the network: near ones, direct copies, GPUDirect RDMA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Evidence, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import is_contained, numbers
from rigright.facts.fabrics import wiring_of

ORDER = ("NV", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS")
MOST_GROUPS = 20_000
MOST_SHOWN = 4
DMA_BUF_KERNEL = (5, 12)
SEE_PEERS = "nvidia-smi topo -p2p r"
SEE_PEERMEM = "lsmod | grep peermem; ibstat | grep -E 'State|Rate'"

Group = tuple[int, ...]


@check(say("cards that exchange lie near each other"))
def topology(case: Case) -> Iterator[Verdict]:
    """Whether the cards a plan exchanges over are the ones that lie nearest to each other.

    Only with `doctor --for PLAN` where cards exchange at every layer. A pair under one switch (PIX, PXB) is
    nearer than one under one processor (PHB, NODE), and that nearer than across processors (SYS). Engines
    take the first cards; where another group of as many lies nearer, they should be told to take it: note
    with the very variable, a warning where the first cards span processors and others would not.

    Source: nvidia-smi topo -m; NCCL's order of paths.
    """
    wanted = case.wanted
    indexes = sorted(device.index for device, _ in answering(case))
    if wanted is None or not 2 <= wanted.tp <= len(indexes) or not case.machine.paths:
        return
    last = len(ORDER) - 1
    ranks = {
        frozenset((path.a, path.b)): next(
            (rank for rank, start in enumerate(ORDER) if path.kind.startswith(start)), last
        )
        for path in case.machine.paths
    }

    def worst(group: Group) -> int:
        return max(ranks.get(frozenset(pair), last) for pair in combinations(group, 2))

    first: Group = tuple(indexes[: wanted.tp])
    best = min(islice(combinations(indexes, wanted.tp), MOST_GROUPS), key=worst)
    far, near = ORDER[worst(first)], ORDER[worst(best)]
    if worst(best) < worst(first):
        yield advise(
            "peers.far",
            severity="warning" if far == "SYS" else None,
            count=len(first),
            first=",".join(map(str, first)),
            best=",".join(map(str, best)),
            far=far,
            near=near,
        )
    else:
        yield Fine(says=say("the first {count} are as near as any: {kind}", count=wanted.tp, kind=far))


@check(say("cards may copy to each other directly"))
def peer_access(case: Case) -> Iterator[Verdict]:
    """Whether the driver lets cards copy to each other directly (peer access).

    Over NVLink, and over PCIe for datacentre and workstation cards, copies go from card to card; where the
    driver refuses, they go through main memory at a third of the speed. On GeForce cards since Turing it
    always refuses over PCIe, which is no finding. A refusal elsewhere comes from a virtual machine, from an
    IOMMU that translates, or from bridges that send peer traffic up to the root (ACS).

    Warning, likely; a note on cards that mostly work alone. Sources: CUDA's peer access rules, NCCL's
    documentation on IOMMU and ACS; data/chip_wiring.csv says which chips may.
    """
    may = {
        device.index
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and wiring_of(chip).peer
    }
    told = [path for path in case.machine.paths or () if path.peer is not None]
    judged = [path for path in told if path.kind.startswith("NV") or {path.a, path.b} <= may]
    refused = [path for path in judged if not path.peer]
    if refused:
        exchange = case.wanted is None or case.wanted.tp > 1 or case.wanted.training
        shown = [
            say("gpu {a} - gpu {b}: refused, over {kind}", a=path.a, b=path.b, kind=path.kind)
            for path in refused[:MOST_SHOWN]
        ]
        yield advise(
            "peers.refused",
            severity="warning" if exchange else None,
            pairs=tuple(Evidence(shows=one, command=SEE_PEERS) for one in shown),
            count=len(refused),
            more=len(refused) > MOST_SHOWN,
            iommu=case.machine.system.iommu or "?",
        )
    elif judged:
        yield Fine(says=say("{count} pairs", count=len(judged)))


@check(say("network cards reach the cards' memory"))
def peer_memory(case: Case) -> Iterator[Verdict]:
    """Whether network cards can reach the cards' memory (GPUDirect RDMA).

    With InfiniBand or RoCE and the module nvidia-peermem, data goes from card to wire without a copy through
    main memory. Without it NCCL copies, which costs bandwidth between machines and processor time. Since
    driver 570 with the open module and a 5.12 kernel, DMA-BUF does the same without the module.

    InfiniBand ports up, datacentre cards, neither module nor DMA-BUF possible: warning where NCCL is meant
    to cross machines. Source: NVIDIA GPUDirect RDMA documentation; NCCL environment documentation
    (NCCL_NET_GDR_LEVEL).
    """
    ports = [
        one for one in case.machine.ports or () if one.kind in {"infiniband", "roce"} and one.state == "up"
    ]
    served = any(
        chip is not None and chip.vendor == "NVIDIA" and chip.segment == "datacenter" for chip in case.chips
    )
    if not ports or not served or is_contained(case):
        return
    software = case.machine.software
    kernel = numbers(case.machine.system.kernel) or (0,)
    if software.peermem:
        yield Fine(says=say("nvidia-peermem is loaded"))
    elif software.open_kernel and kernel >= DMA_BUF_KERNEL:
        yield Fine(says=say("by DMA-BUF: open module, kernel {kernel}", kernel=case.machine.system.kernel))
    elif software.peermem is None:
        yield NotSeen(why=say("the list of kernel modules cannot be read here"), see=SEE_PEERMEM)
    else:
        yield advise("peers.peermem", count=len(ports))
