"""How GPUs reach each other and the network: topology, P2P, GPUDirect RDMA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import answering
from rigright.doctor.nic import rdma_ports
from rigright.doctor.record import CheckInput, Evidence, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import is_contained, numbers
from rigright.facts.fabrics import wiring_of

ORDER = ("NV", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS")
_MOST_GROUPS = 20_000
MOST_SHOWN = 4
_DMA_BUF_KERNEL = (5, 12)
_SEE_PEERS = "nvidia-smi topo -p2p r"
_SEE_PEERMEM = "lsmod | grep peermem; ibstat | grep -E 'State|Rate'"

Group = tuple[int, ...]


@check(say("GPU topology for the plan"))
def topology(case: CheckInput) -> Iterator[Verdict]:
    """Whether a plan's GPUs are the best connected ones.

    Only with `doctor --for PLAN` and tensor parallelism. A pair under one switch (PIX, PXB) is closer
    than one under one CPU (PHB, NODE), and that is closer than across CPUs (SYS). Engines take the first
    GPUs; if another group of the same size is better connected, the check names the variable that
    selects it.

    Note; warning where the first GPUs span sockets and others would not. Source: nvidia-smi topo -m;
    NCCL's order of paths.
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
    best = min(islice(combinations(indexes, wanted.tp), _MOST_GROUPS), key=worst)
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
        yield Fine(
            says=say("the first {count} GPUs are the best connected: {kind}", count=wanted.tp, kind=far)
        )


@check(say("P2P between GPUs"))
def peer_access(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver allows P2P between GPUs.

    Over NVLink, and over PCIe on data center and workstation GPUs, copies go from GPU to GPU; where the
    driver refuses, they go through host memory at a third of the speed. GeForce GPUs since Turing never
    have P2P over PCIe, which is no finding. Elsewhere the cause is a virtual machine, an IOMMU that
    translates, or ACS on PCIe bridges.

    Warning, likely; a note where GPUs work alone. Sources: CUDA's peer access rules, NCCL's
    documentation on IOMMU and ACS; data/chip_wiring.csv says which chips support it.
    """
    may = {
        device.index
        for device, chip in answering(case, vendor="nvidia")
        if chip is not None and not device.mig and wiring_of(chip).peer
    }
    paths = [path for path in case.machine.paths or () if path.peer is not None]
    judged = [path for path in paths if path.kind.startswith("NV") or {path.a, path.b} <= may]
    refused = [path for path in judged if not path.peer]
    if refused:
        exchange = case.wanted is None or case.wanted.tp > 1 or case.wanted.training
        shown = [
            say("gpu {a} - gpu {b}: no P2P over {kind}", a=path.a, b=path.b, kind=path.kind)
            for path in refused[:MOST_SHOWN]
        ]
        yield advise(
            "peers.refused",
            severity="warning" if exchange else None,
            pairs=tuple(Evidence(shows=sentence, command=_SEE_PEERS) for sentence in shown),
            count=len(refused),
            more=len(refused) > MOST_SHOWN,
            iommu=case.machine.system.iommu or "?",
        )
    elif judged:
        yield Fine(says=say("P2P enabled on {count} pairs", count=len(judged)))


@check(say("GPUDirect RDMA"))
def peer_memory(case: CheckInput) -> Iterator[Verdict]:
    """Whether NICs can reach GPU memory directly (GPUDirect RDMA).

    With InfiniBand or RoCE and the nvidia-peermem module, data goes from GPU to wire without a copy
    through host memory. Without it NCCL stages copies, which costs bandwidth between nodes and CPU time.
    From driver 570 on, the open kernel module on kernel 5.12 or newer does the same with DMA-BUF,
    without nvidia-peermem.

    Warning: RDMA ports up and data center GPUs, but neither the module nor DMA-BUF. Source: NVIDIA
    GPUDirect RDMA documentation; NCCL environment documentation (NCCL_NET_GDR_LEVEL).
    """
    ports = [port for port in rdma_ports(case) if port.state == "up"]
    served = any(
        chip is not None and chip.vendor == "NVIDIA" and chip.segment == "datacenter" for chip in case.chips
    )
    if not ports or not served or is_contained(case):
        return
    software = case.machine.software
    kernel = numbers(case.machine.system.kernel) or (0,)
    if software.peermem:
        yield Fine(says=say("nvidia-peermem is loaded"))
    elif software.open_kernel and kernel >= _DMA_BUF_KERNEL:
        yield Fine(
            says=say(
                "DMA-BUF available: open kernel module, kernel {kernel}", kernel=case.machine.system.kernel
            )
        )
    elif software.peermem is None:
        yield NotSeen(why=say("kernel module list not readable here"), see=_SEE_PEERMEM)
    else:
        yield advise("peers.peermem", count=len(ports))
