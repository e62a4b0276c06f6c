"""The network of each card: how near its network card is, and how fast beside what such boards have."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.nic import rdma_ports
from rigright.doctor.record import Case, Fine, Verdict, check
from rigright.facts.gpu_networks import network_of

WAYS = ("PIX", "PXB", "PHB", "NODE", "SYS")  # nearest first; the first two stay below a switch
BELOW_A_SWITCH = 1
ENOUGH = 0.75  # of what boards of the chip have


@check(say("each card has a network card below its switch"))
def nic_paths(case: Case) -> Iterator[Verdict]:
    """How far each card's nearest network card is, beside the other cards of the machine.

    GPUDirect RDMA below one PCIe switch (PIX, PXB) runs at the full rate; through the processor (PHB, NODE)
    it loses some, from one socket to the other (SYS) half and more. On boards of eight cards each has its own
    network card below its switch. One card whose nearest is farther, while others have theirs below a switch,
    has lost it, or is cabled otherwise: all of a ring wait for it.

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
        yield Fine(says=say("each card has one below its switch"))


@check(say("the network of each card is as fast as such boards have it"))
def nic_rate(case: Case) -> Iterator[Verdict]:
    """The network for each card, beside what makers ship boards of this chip with.

    Training over several machines exchanges gradients at this rate. A machine with a network card for each
    GPU and less than three quarters of the usual rate is bought so, or its links train at an older one: what
    one port can do and does not is ib_ports' word.

    Note. Source: datasheets in data/gpu_networks.csv.
    """
    known = [(device, chip) for device, chip in answering(case) if chip is not None]
    rates = [one.bytes_per_s for one in rdma_ports(case) if one.state == "up" and one.bytes_per_s]
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
        yield Fine(says=say("{has} Gb/s each", has=shown["has"]))
