"""How cards sit on the bus: slots, switches, memory domains, windows to their memory, sleep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIB, MIB, show_bytes
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering
from rigright.doctor.record import Case, Fine, NotSeen, Verdict, check
from rigright.doctor.wires import function_of, functions, has_slot, is_real, wires_up
from rigright.machine.cells import indexes
from rigright.machine.device import Device

SEE_PORTS = "sudo lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'"
SEE_DOMAINS = "nvidia-smi topo -m; numactl --hardware"
SMALL_BYTES = 256 * MIB
ABLE = (
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


@check(say("copies between cards take the short way (ACS)"))
def pcie_acs(case: Case) -> Iterator[Verdict]:
    """Access control on switches: whether copies between cards take the short way.

    Cards behind one switch can exchange through it. With access control (ACS: request or completion
    redirect) on the switch's ports, every such packet goes up to the processor and down again; with the
    IOMMU translating as well, some peer copies hang or come out wrong. Machines that give cards to virtual
    machines need both; others do not.

    Warning, on a machine of metal, where cards (or a card and a network card) stand behind one switch whose
    ports redirect. Without root the setting is not seen. Source: NVIDIA's NCCL troubleshooting guide (PCI
    access control services); PCI Express base specification, section 6.12.
    """
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
        yield NotSeen(why=say("root alone may read the switches' settings"), see=SEE_PORTS)
        return
    redirecting = [port.address for port in ports if port.acs]
    if redirecting:
        named = ", ".join(redirecting[:MOST_SHOWN]) + (" ..." if len(redirecting) > MOST_SHOWN else "")
        translates = case.machine.system.iommu == "on"
        yield advise("pcie.redirects", ports=named, port=redirecting[0], translates=translates)
    else:
        yield Fine(says=say("none redirects; ports: {count}", count=len(ports)))


@check(say("cards and memory on the same side (NUMA)"))
def pcie_numa(case: Case) -> Iterator[Verdict]:
    """Which memory domain each card is near, and whether that domain has memory and cores.

    On machines with two sockets each card hangs on one of them. A process on the other one copies through
    the link between sockets: latency grows, rate falls. A domain without memory modules makes every copy of
    its cards go across. Where the firmware tells no domain, tools cannot bind processes rightly.

    Warning: a card's domain has no memory. Note: no domain told on a machine with several; all cards on one
    of several sockets; the process may run on cores of the other side alone. Source: Linux NUMA
    documentation; NVIDIA's DGX guides (binding by `nvidia-smi topo -m`).
    """
    cpu = case.machine.cpu
    nodes = {node.index: node for node in cpu.nodes}
    if not is_real(case) or sum(bool(node.cpus) for node in cpu.nodes) < 2:
        return
    near = {device: _near(case, device) for device, chip in answering(case) if has_slot(device, chip)}
    for device, index in near.items():
        node = None if index is None else nodes.get(index)
        if index is None and function_of(case, device) is None:
            why = say("nobody tells which memory domain the card is near")
            yield NotSeen(why=why, see=SEE_DOMAINS, about=label(device))
        elif node is None:
            yield advise("pcie.domain_untold", device=device)
        elif node.mem_bytes == 0:
            yield advise("pcie.domain_empty", device=device, node=node.index)
        elif (
            cpu.allowed is not None and node.cpus and not set(indexes(cpu.allowed)) & set(indexes(node.cpus))
        ):
            yield advise("pcie.far_cores", device=device, cores=cpu.allowed)
        else:
            yield Fine(says=say("near domain {node}", node=node.index), about=label(device))
    told = {node for node in near.values() if node is not None}
    if len(near) >= 4 and len(told) == 1 and None not in near.values() and (cpu.sockets or 1) > 1:
        yield advise("pcie.far_from_all", count=len(near), sockets=cpu.sockets)


def _near(case: Case, device: Device) -> int | None:
    """The memory domain a card is near, as its driver or the bus tells it."""
    one = function_of(case, device)
    node = device.numa_node if device.numa_node is not None else one.numa_node if one is not None else None
    return node if node is not None and node >= 0 else None


@check(say("cards are awake"))
def pcie_power(case: Case) -> Iterator[Verdict]:
    """Cards that the kernel has put to sleep (D3), and take time to wake.

    Laptops and some desktops let an idle card lose power between jobs. Waking takes a second or more, clears
    clocks and persistence, and some drivers lose the card over it. Where jobs come often, keep it awake.

    Note. Source: Linux runtime power management of PCI; NVIDIA driver README, chapter on PCI-Express runtime
    D3.
    """
    if not is_real(case):
        return
    for device in case.machine.devices:
        one = function_of(case, device)
        if one is None or one.power_state is None:
            continue
        if one.power_state.startswith("D3"):
            folder = f"/sys/bus/pci/devices/{one.address}"
            yield advise("pcie.asleep", device=device, state=one.power_state, folder=folder)
        else:
            yield Fine(says=say("awake ({state})", state=one.power_state), about=label(device))


@check(say("the window to a card's memory (resizable BAR)"))
def pcie_rebar(case: Case) -> Iterator[Verdict]:
    """The window through which the processor and other cards reach a card's memory (its large BAR).

    With a resizable BAR the whole memory of a card can be reached; without, 256 MiB at a time. A card of a
    server needs it for peer copies and for network cards that write into its memory (GPUDirect RDMA); on a
    desktop it makes loading a little faster. It is switched on in the board's firmware ("Above 4G decoding",
    then "Resizable BAR").

    Warning on a server's card whose window is smaller than its memory while the machine has InfiniBand or
    RoCE; else a note: GeForce from the 30 series on, Radeon from the RX 6000 on, server cards from Ampere
    on. Source: NVIDIA's GPUDirect RDMA guide; PCI Express resizable BAR capability; the makers' lists of
    cards.
    """
    if not is_real(case):
        return
    rdma = any(port.kind in {"infiniband", "roce"} for port in case.machine.ports or ())
    for device, chip in answering(case):
        if chip is None or not has_slot(device, chip) or not chip.architecture.startswith(ABLE):
            continue
        one, serves = function_of(case, device), chip.segment == "datacenter"
        window = max([*(one.bars_bytes if one is not None else ()), device.bar1_total_bytes or 0.0])
        size = show_bytes(window)
        if not window:
            why = say("nobody tells its size")
            yield NotSeen(why=why, see="nvidia-smi -q -d MEMORY", about=label(device))
        elif window <= SMALL_BYTES or (serves and window < chip.mem_bytes):
            name = "pcie.window_rdma" if rdma and serves else "pcie.window"
            yield advise(name, device=device, size=size, memory=f"{chip.mem_bytes / GIB:g} GiB")
        else:
            yield Fine(says=say("a window of {size}", size=size), about=label(device))


@check(say("free slots"))
def pcie_room(case: Case) -> Iterator[Verdict]:
    """Where another card can go: free slots, as the board's firmware lists them.

    No fault is looked for; the free slots of eight lanes and more are told, and how many lanes and which
    generation each has. The processor's lanes limit what a board can do: a slot that shares its lanes with
    another halves it.

    Source: the firmware's table (SMBIOS type 9), which root alone may read.
    """
    slots = case.machine.slots
    if not is_real(case) or (slots is not None and not slots):
        return
    if slots is None:
        closed = next((one for one in case.machine.unseen if one.what == "slots"), None)
        if closed is not None and case.machine.pci:
            yield NotSeen(why=closed.why, see=closed.see)
        return
    free = [slot for slot in slots if slot.in_use is False and (slot.lanes or 0) >= WIDE]
    if free:
        names = ", ".join(f"{slot.name} ({slot.kind})" for slot in free)
        yield Fine(says=say("free for another card: {slots}", slots=names))
    else:
        yield Fine(says=say("no free slot of {lanes} lanes or more", lanes=WIDE))


@check(say("slots as wide as their cards"))
def pcie_slot(case: Case) -> Iterator[Verdict]:
    """Slots with fewer lanes than the card in them.

    A card of sixteen lanes in a slot of eight or four works, and all its compute is there; its copies are
    slower. Two cards in a desktop board commonly share sixteen lanes (8 + 8), which is how the board is
    meant: worth knowing. For inference on one card it costs only loading time; training and tensor
    parallelism over several cards without direct links exchange through these lanes at every step.

    Note at eight lanes and more (or any width for a single card); warning below eight where several cards
    work together. Source: PCI Express base specification; the boards' manuals.
    """
    if not is_real(case):
        return
    together = len(answering(case)) > 1
    for device, chip in answering(case):
        one = function_of(case, device)
        wires = wires_up(case, one) if one is not None and has_slot(device, chip) else ()
        above = [wire.above for wire in wires if wire.above is not None and wire.above.lanes_max is not None]
        card = (chip.pcie_lanes if chip else None) or (one.lanes_max if one is not None else None)
        if not above or card is None:
            continue
        port = min(above, key=lambda bridge: bridge.lanes_max or 0)
        lanes = port.lanes_max or 0
        if lanes >= card:
            yield Fine(says=say("a slot of {lanes} lanes", lanes=lanes), about=label(device))
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
