"""The NICs of each GPU: how near, how fast."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.nic import rdma_ports
from rigright.doctor.record import CheckInput, Fine, Verdict, check
from rigright.facts.fabrics import network_of

WAYS = ("PIX", "PXB", "PHB", "NODE", "SYS")  # nearest first; the first two stay below a switch
BELOW_A_SWITCH = 1
ENOUGH = 0.75  # of what boards of the chip have


@check(say("every GPU has a NIC under its PCIe switch"))
def nic_paths(case: CheckInput) -> Iterator[Verdict]:
    """Path from each GPU to its nearest NIC, compared with the other GPUs.

    GPUDirect RDMA under one PCIe switch (PIX, PXB) runs at full rate; through the CPU (PHB, NODE) it loses
    some, across sockets (SYS) half or more. On 8-GPU boards each GPU has its own NIC under its switch. If one
    GPU's nearest NIC is farther away than its peers', that NIC is lost or the cabling differs, and every ring
    waits for that GPU.

    Warning. Source: NVIDIA GPUDirect RDMA documentation; legend of nvidia-smi topo -m.
    """
    cards = [device for device, _ in answering(case) if device.nics]
    best = {
        card.index: min((WAYS.index(way) for _, way in card.nics if way in WAYS), default=len(WAYS) - 1)
        for card in cards
    }
    if len(cards) < 2 or min(best.values()) > BELOW_A_SWITCH:
        return
    far = [card for card in cards if best[card.index] > BELOW_A_SWITCH]
    for card in far:
        near = next(name for name, way in card.nics if way == WAYS[best[card.index]] or way not in WAYS)
        yield advise("gpu_networks.far", about=label(card), way=WAYS[best[card.index]], near=near)
    if not far:
        yield Fine(says=say("every GPU has one"))


@check(say("network bandwidth per GPU"))
def nic_rate(case: CheckInput) -> Iterator[Verdict]:
    """Network bandwidth per GPU, compared with what vendors ship for this GPU.

    Multi-node training exchanges gradients at this rate. Less than three quarters of the usual rate means
    that the node was bought like that, or that its ports run at an older speed: ib_ports checks single ports.

    Note. Source: datasheets in data/gpu_networks.csv.
    """
    known = [(device, chip) for device, chip in answering(case) if chip is not None]
    rates = [port.bytes_per_s for port in rdma_ports(case) if port.state == "up" and port.bytes_per_s]
    usual = {network_of(chip.id) for _, chip in known}
    if len(usual) != 1 or len(known) < 2 or len(rates) < len(known):
        return
    (expected,) = usual
    has = sum(sorted(rates, reverse=True)[: len(known)]) / len(known)  # one for each; others carry storage
    if expected is None:
        return
    shown = {"has": f"{has * 8 / GIGA:.0f}", "usual": f"{expected * 8 / GIGA:.0f}"}
    if has < ENOUGH * expected:
        yield advise("gpu_networks.slow", shown)
    else:
        yield Fine(says=say("{has} Gb/s per GPU", has=shown["has"]))
