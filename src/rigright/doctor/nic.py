"""What checks of network cards share: ports of RDMA, the card below each, ports that are alike."""

from __future__ import annotations

from rigright.doctor.record import CheckInput
from rigright.facts.nics import NicModel, nic_of
from rigright.machine.host import Port

RDMA = frozenset({"infiniband", "roce"})  # what collectives go over; iWARP and others carry storage


def rdma_ports(case: CheckInput) -> list[Port]:
    """Ports of InfiniBand and RoCE."""
    return [port for port in case.machine.ports or () if port.kind in RDMA]


def nic_at(case: CheckInput, port: Port) -> NicModel | None:
    """The card of a port, as far as the table knows it."""
    return nic_of(model=port.model, board=port.board, pci=bus_id(case, port))


def bus_id(case: CheckInput, port: Port) -> str | None:
    """Maker and kind of the function of a port: "15b3:1021"."""
    return next((device.id for device in case.machine.pci or () if device.address == port.pci), None)


def alike(case: CheckInput) -> list[list[Port]]:
    """Ports of the same board, at the same place of it: only they are held against each other.

    Cards of storage, of management and of the fabric are of other boards, or of another link layer; the
    second ports of cards are often not cabled.
    """
    kinds: dict[tuple[object, ...], list[Port]] = {}
    for port in rdma_ports(case):
        ids = next(
            ((device.id, device.board_id) for device in case.machine.pci or () if device.address == port.pci),
            None,
        )
        place = ((port.pci or "").rpartition(".")[2], port.name.rpartition("/")[2])
        bonded = "bond" in port.name
        kinds.setdefault((port.kind, port.driver, port.model, port.board, ids, place, bonded), []).append(
            port
        )
    return list(kinds.values())
