"""What checks of network cards share: ports of RDMA, the card below each, ports that are alike."""

from __future__ import annotations

from rigright.doctor.record import CheckInput
from rigright.facts.nics import NicModel, nic_of
from rigright.machine.host import Port
from rigright.machine.record import Machine

RDMA = frozenset({"infiniband", "roce"})  # what collectives go over; iWARP and others carry storage


def rdma_ports(case: CheckInput) -> list[Port]:
    """Ports of InfiniBand and RoCE."""
    return [port for port in case.machine.ports or () if port.kind in RDMA]


def fastest_port(machine: Machine) -> float | None:
    """Bytes a second of the fastest port that is up."""
    ports = (port for port in machine.ports or () if port.state == "up" and port.kind != "virtual")
    return max((port.bytes_per_s for port in ports if port.bytes_per_s), default=None)


def nic_at(case: CheckInput, port: Port) -> NicModel | None:
    """The card of a port, as far as the table knows it."""
    return nic_of(model=port.model, board=port.board, pci=_ids(case, port)[0])


def _ids(case: CheckInput, port: Port) -> tuple[str | None, str | None]:
    """Maker and kind of the function of a port, "15b3:1021", and its board."""
    functions = (item for item in case.machine.pci or () if item.address == port.pci)
    return next(((item.id, item.board_id) for item in functions), (None, None))


def alike(case: CheckInput) -> list[list[Port]]:
    """Ports of the same board, at the same place of it: only they are held against each other.

    Cards of storage, of management and of the fabric are of other boards, or of another link layer; the
    second ports of cards are often not cabled.
    """
    kinds: dict[tuple[object, ...], list[Port]] = {}
    for port in rdma_ports(case):
        place = ((port.pci or "").rpartition(".")[2], port.name.rpartition("/")[2])
        bonded = "bond" in port.name
        kind = (port.kind, port.driver, port.model, port.board, _ids(case, port), place, bonded)
        kinds.setdefault(kind, []).append(port)
    return list(kinds.values())
