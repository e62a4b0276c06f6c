"""Whether each card has a network card near it: in its memory domain.

GPUDirect RDMA goes from a card straight to a network card below the same switch or, at the least, the same
socket. Where a card has none near it, its traffic crosses the link between sockets: the rate falls by half
and more, and NCCL shares the network cards of others. Boards of eight cards have one network card for each.

Warning: a card without one near it on a machine with as many ports as cards. Note: with fewer. Machines of
one memory domain, without InfiniBand or RoCE, and those that do not tell domains are not asked. Source:
NVIDIA GPUDirect RDMA documentation; nvidia-smi topo -m.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label
from rigright.doctor.nic import rdma_ports
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("each card has a network card near it")
_SHOW = "nvidia-smi topo -m"


def check(case: Case) -> Iterator[Verdict]:
    """A finding a card that has none, else one verdict with the nearest of each."""
    cards = [device for device, _ in answering(case) if device.numa_node is not None and not device.mig]
    ports = [one for one in rdma_ports(case) if one.state in {"up", None} and one.numa_node is not None]
    domains = {one.numa_node for one in cards} | {one.numa_node for one in ports}
    if len(cards) < 2 or not ports or len(domains) < 2 or min(map(int, filter(None, domains)), default=0) < 0:
        return
    near = {card.index: [one for one in ports if one.numa_node == card.numa_node] for card in cards}
    lonely = [card for card in cards if not near[card.index]]
    for card in lonely:
        yield Finding(
            severity="warning" if len(ports) >= len(cards) else "note",
            title=say("no network card is near the card"),
            evidence=seen(
                say(
                    "memory domain {card}; network cards in {others}",
                    card=card.numa_node,
                    others=", ".join(sorted({str(one.numa_node) for one in ports})),
                ),
                _SHOW,
            ),
            why=say("its traffic to other machines crosses the link between sockets, at half the rate"),
            fix=(step(say("move a network card to a slot of that socket, next to the card")),),
            about=label(card),
        )
    if not lonely:
        told = "; ".join(
            f"{label(card)}: {', '.join(one.name for one in near[card.index][:4])}" for card in cards[:8]
        )
        yield Fine(says=say("near: {told}", told=told))
