"""GPUs on PCIe: slots, switches, NUMA nodes, BAR size, power state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.nic import rdma_ports
from rigright.doctor.record import CheckInput, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import function_of, functions, has_slot, is_real, wires_up
from rigright.machine.cells import indexes
from rigright.machine.device import Device

_SEE_PORTS = "sudo lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'"
_SEE_DOMAINS = "nvidia-smi topo -m; numactl --hardware"
SMALL_BYTES = 256 * MIB
_ABLE = (
    "Ampere",
    "Ada",
    "Hopper",
    "Blackwell",
    "RDNA2",
    "RDNA 2",
    "RDNA3",
    "RDNA 3",
    "RDNA4",
    "RDNA 4",
    "CDNA",
)
WIDE, NARROW = 8, 8  # lanes
MOST_SHOWN = 4


@check(say("PCIe ACS on the path between GPUs"))
def pcie_acs(case: CheckInput) -> Iterator[Verdict]:
    """ACS on PCIe switches: whether peer-to-peer copies take the direct path.

    GPUs behind one switch can exchange through it. With ACS (request or completion redirect) on the
    switch ports, every such packet goes up to the root complex and back; if the IOMMU translates as
    well, some peer copies hang or return wrong data. GPU passthrough to virtual machines needs both;
    other machines do not.

    Warning: on bare metal, GPUs (or a GPU and a NIC) behind one switch whose ports redirect. Reading the
    setting needs root. Source: NVIDIA's NCCL troubleshooting guide (PCI access control services); PCI
    Express base specification, section 6.12.
    """
    if not is_real(case) or len(answering(case)) < 2:
        return
    # lower ports of switches behind which several partners stand: cards, and network cards of RDMA
    known = functions(case)
    partners = [item for device, _ in answering(case) if (item := function_of(case, device)) is not None]
    rdma = {port.pci for port in rdma_ports(case) if port.pci}
    partners += [known[address] for address in rdma if address in known]
    tops = Counter(partner.parents[1] for partner in partners if len(partner.parents) >= 3)
    lower = {
        partner.parents[-1]
        for partner in partners
        if len(partner.parents) >= 3 and tops[partner.parents[1]] > 1
    }
    ports = [known[address] for address in sorted(lower) if address in known]
    if not ports:
        return
    if case.gap("pci.acs") is not None:
        yield NotSeen(why=say("only root can read the switch settings"), see=_SEE_PORTS)
        return
    redirecting = [port.address for port in ports if port.acs]
    if redirecting:
        named = ", ".join(redirecting[:MOST_SHOWN]) + (" ..." if len(redirecting) > MOST_SHOWN else "")
        translates = case.machine.system.iommu == "on"
        yield advise("pcie.redirects", ports=named, port=redirecting[0], translates=translates)
    else:
        yield Fine(says=say("no ACS redirect; ports: {count}", count=len(ports)))


@check(say("NUMA affinity of the GPUs"))
def pcie_numa(case: CheckInput) -> Iterator[Verdict]:
    """NUMA affinity of each GPU, and whether its node has memory and cores.

    On two-socket machines each GPU is attached to one socket. A process on the other socket copies over
    the socket interconnect: higher latency, lower bandwidth. If the GPU's node has no DIMMs, every copy
    crosses. Without a NUMA node in the firmware, tools cannot bind processes correctly.

    Warning: the GPU's node has no memory. Note: no node reported on a machine with several; all GPUs on
    one of several sockets; the process is pinned to remote cores only. Source: Linux NUMA documentation;
    NVIDIA's DGX guides (binding by `nvidia-smi topo -m`).
    """
    cpu = case.machine.cpu
    nodes = {node.index: node for node in cpu.nodes}
    if not is_real(case) or sum(bool(node.cpus) for node in cpu.nodes) < 2:
        return
    near = {device: _near(case, device) for device, chip in answering(case) if has_slot(device, chip)}
    for device, index in near.items():
        node = None if index is None else nodes.get(index)
        if index is None and function_of(case, device) is None:
            why = say("NUMA node not reported")
            yield NotSeen(why=why, see=_SEE_DOMAINS, about=label(device))
        elif node is None:
            yield advise("pcie.domain_untold", device=device)
        elif node.mem_bytes == 0:
            yield advise("pcie.domain_empty", device=device, node=node.index)
        elif (
            cpu.allowed is not None and node.cpus and not set(indexes(cpu.allowed)) & set(indexes(node.cpus))
        ):
            yield advise("pcie.far_cores", device=device, cores=cpu.allowed)
        else:
            yield Fine(says=say("NUMA node {node}", node=node.index), about=label(device))
    numbers = {node for node in near.values() if node is not None}
    if len(near) >= 4 and len(numbers) == 1 and None not in near.values() and (cpu.sockets or 1) > 1:
        yield advise("pcie.far_from_all", count=len(near), sockets=cpu.sockets)


def _near(case: CheckInput, device: Device) -> int | None:
    """The memory domain a card is near, as its driver or the bus tells it."""
    item = function_of(case, device)
    node = device.numa_node if device.numa_node is not None else item.numa_node if item is not None else None
    return node if node is not None and node >= 0 else None


@check(say("PCI power state"))
def pcie_power(case: CheckInput) -> Iterator[Verdict]:
    """GPUs in a PCI sleep state (D3) that take time to wake.

    Laptops and some desktops power an idle GPU down between jobs. Waking takes a second or more, resets
    clocks and persistence, and some drivers lose the GPU over it. Where jobs come often, keep it awake.

    Note. Source: Linux runtime power management of PCI; NVIDIA driver README, chapter on PCI-Express
    runtime D3.
    """
    if not is_real(case):
        return
    for device in case.machine.devices:
        item = function_of(case, device)
        if item is None or item.power_state is None:
            continue
        if item.power_state.startswith("D3"):
            folder = f"/sys/bus/pci/devices/{item.address}"
            yield advise("pcie.asleep", device=device, state=item.power_state, folder=folder)
        else:
            yield Fine(says=say("active ({state})", state=item.power_state), about=label(device))


@check(say("Resizable BAR"))
def pcie_rebar(case: CheckInput) -> Iterator[Verdict]:
    """BAR1: how much GPU memory the CPU and other devices can map (Resizable BAR).

    With Resizable BAR all GPU memory is mapped; without it, 256 MiB at a time. Server GPUs need it for
    peer copies and GPUDirect RDMA; on a desktop it makes loading a little faster. It is enabled in the
    BIOS ("Above 4G Decoding", then "Resizable BAR").

    Warning: a server GPU whose BAR1 is smaller than its memory, on a machine with InfiniBand or RoCE.
    Note otherwise: GeForce from the 30 series on, Radeon from the RX 6000 on, server GPUs from Ampere
    on. Source: NVIDIA's GPUDirect RDMA guide; PCI Express resizable BAR capability; the vendors' lists
    of cards.
    """
    if not is_real(case):
        return
    rdma = bool(rdma_ports(case))
    for device, chip in answering(case):
        if chip is None or not has_slot(device, chip) or not chip.architecture.startswith(_ABLE):
            continue
        item, serves = function_of(case, device), chip.segment == "datacenter"
        window = max([*(item.bars_bytes if item is not None else ()), device.bar1_total_bytes or 0.0])
        size = show_bytes(window)
        if not window:
            why = say("BAR1 size not reported")
            yield NotSeen(why=why, see="nvidia-smi -q -d MEMORY", about=label(device))
        elif window <= SMALL_BYTES or (serves and window < chip.mem_bytes):
            name = "pcie.window_rdma" if rdma and serves else "pcie.window"
            yield advise(name, device=device, size=size, memory=f"{chip.mem_bytes / GIB:g} GiB")
        else:
            yield Fine(says=say("BAR1 {size}", size=size), about=label(device))


@check(say("free PCIe slots"))
def pcie_room(case: CheckInput) -> Iterator[Verdict]:
    """Free PCIe slots, as the BIOS lists them.

    Not a fault check: it lists free slots of x8 and wider with lanes and generation. The CPU's lanes
    limit what a board can do: a slot that shares lanes with another halves it.

    Source: SMBIOS type 9, which only root can read.
    """
    slots = case.machine.slots
    if not is_real(case) or (slots is not None and not slots):
        return
    if slots is None:
        closed = case.gap("slots")
        if closed is not None and case.machine.pci:
            yield closed
        return
    free = [slot for slot in slots if slot.in_use is False and (slot.lanes or 0) >= WIDE]
    if free:
        names = ", ".join(f"{slot.name} ({slot.kind})" for slot in free)
        yield Fine(says=say("free slots: {slots}", slots=names))
    else:
        yield Fine(says=say("no free slot of x{lanes} or wider", lanes=WIDE))


@check(say("PCIe slot width"))
def pcie_slot(case: CheckInput) -> Iterator[Verdict]:
    """Slots narrower than the GPU in them.

    An x16 GPU in an x8 or x4 slot computes at full speed; its copies are slower. Two GPUs in a desktop
    board commonly share sixteen lanes (8 + 8) by design. For single-GPU inference only loading time
    suffers; training and tensor parallelism over several GPUs without NVLink exchange through these
    lanes at every step.

    Note: x8 and wider, or any width for a single GPU. Warning: below x8 where several GPUs work
    together. Source: PCI Express base specification; board manuals.
    """
    if not is_real(case):
        return
    together = len(answering(case)) > 1
    for device, chip in answering(case):
        item = function_of(case, device)
        wires = wires_up(case, item) if item is not None and has_slot(device, chip) else ()
        above = [wire.above for wire in wires if wire.above is not None and wire.above.lanes_max is not None]
        card = (chip.pcie_lanes if chip else None) or (item.lanes_max if item is not None else None)
        if not above or card is None:
            continue
        port = min(above, key=lambda bridge: bridge.lanes_max or 0)
        lanes = port.lanes_max or 0
        if lanes >= card:
            yield Fine(says=say("x{lanes} slot", lanes=lanes), about=label(device))
            continue
        slots = case.machine.slots or ()
        free = [slot for slot in slots if slot.in_use is False and (slot.lanes or 0) > lanes]
        yield advise(
            "pcie.slot",
            device=device,
            severity="warning" if together and lanes < NARROW and not device.links else None,
            card=card,
            lanes=lanes,
            port=port.address,
            share=f"{lanes / card:.0%}",
            wider=max(free, key=lambda slot: slot.lanes or 0).name if free else None,
        )
