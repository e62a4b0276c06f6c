"""Network ports: Ethernet, wireless, InfiniBand and RoCE."""

from __future__ import annotations

import re

from rigright.base.units import GIGA, MEGA
from rigright.base.words import say
from rigright.machine.cells import positive_of, whole_of, word_of
from rigright.machine.host import Port
from rigright.machine.pci import address_above, numa_of
from rigright.machine.record import Read, Unseen
from rigright.machine.world import World

NET, RDMA = "/sys/class/net", "/sys/class/infiniband"
BITS = 8
_LOOPBACK = 772
_ETHERNET = 1
_LENT = ("virtio", "/vmbus", "/xen", "/vif-")  # by a hypervisor
_MOST = 256
_COUNTERS = (
    *("rx_errors", "tx_errors", "rx_crc_errors", "rx_dropped", "tx_dropped", "rx_missed_errors"),
    *("tx_carrier_errors", "collisions", "rx_packets", "tx_packets"),
)
RDMA_ERRORS = (
    *("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "port_xmit_discards"),
    *("local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped"),
    "port_rcv_remote_physical_errors",
)
_RDMA_HARDWARE = (
    *("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err"),
    *("np_cnp_sent", "rp_cnp_handled", "roce_adp_retrans", "rx_icrc_encapsulated"),
)
_STATES = {"ACTIVE": "up", "DOWN": "down", "INIT": "init", "ARMED": "init"}
_RATE = re.compile(r"([\d.]{1,8}) Gb/sec(?: \((\d{1,2})X)?")


def read(world: World) -> Read:
    """Every port with hardware below it, bonds, and the ports of RDMA cards."""
    if not world.has(NET) and not world.has(RDMA):
        why = say("no network ports in /sys")
        return Read(unseen=(Unseen(what="ports", why=why, see="ifconfig -a"),))
    ports = [_port(world, name) for name in world.names(NET)[:_MOST] if _is_wanted(world, name)]
    return Read(fields={"ports": (*ports, *rdma_ports(world))})


def rdma_ports(world: World) -> list[Port]:
    """The ports of RDMA cards alone: files of /sys, and no program asked."""
    return [
        _rdma_port(world, card, number=number)
        for card in world.names(RDMA)[:_MOST]
        for number in world.names(f"{RDMA}/{card}/ports")
    ]


def _is_wanted(world: World, name: str) -> bool:
    """Ports with a device below them, and bonds; loopback, bridges and pairs of containers are left out."""
    if whole_of(world, f"{NET}/{name}/type") == _LOOPBACK:
        return False
    return world.has(f"{NET}/{name}/device") or world.has(f"{NET}/{name}/bonding")


def _port(world: World, name: str) -> Port:
    at = f"{NET}/{name}"
    driver = world.link(f"{at}/device/driver")
    speed = positive_of(world, f"{at}/speed")
    if world.has(f"{NET}/{name}/wireless") or world.has(f"{NET}/{name}/phy80211"):
        kind = "wifi"
    elif world.has(f"{NET}/{name}/bonding"):
        kind = "bond"
    elif whole_of(world, f"{NET}/{name}/type") != _ETHERNET:
        kind = "virtual"
    else:
        above = (world.link(f"{NET}/{name}/device") or "").lower()
        kind = "virtual" if any(word in above for word in _LENT) else "ethernet"
    # how often the link went away, and a bond's members with those that are up
    pairs = []
    if (flaps := whole_of(world, f"{at}/carrier_down_count")) is not None:
        pairs.append(("carrier_down", flaps))
    members = (world.text(f"{at}/bonding/slaves", 4096) or "").split()
    if members:
        up = sum(_state(world, f"{NET}/{member}") == "up" for member in members)
        pairs += [("members", len(members)), ("members_up", up)]
    return Port(
        name=name,
        kind=kind,
        state=_state(world, at),
        bytes_per_s=speed * MEGA / BITS if speed else None,
        max_bytes_per_s=_most(world, name) if kind == "ethernet" else None,
        driver=driver.rpartition("/")[2] if driver else None,
        pci=address_above(world.link(f"{at}/device")),
        mtu=positive_of(world, f"{at}/mtu"),
        numa_node=numa_of(world, f"{at}/device"),
        counters=(*_counted(world, f"{at}/statistics", names=_COUNTERS), *tuple(pairs)),
    )


def _state(world: World, at: str) -> str | None:
    state = word_of(world, f"{at}/operstate")
    if state in {"up", "down"}:
        return state
    carrier = whole_of(world, f"{at}/carrier")
    return {1: "up", 0: "down"}.get(carrier) if carrier is not None else state


def _most(world: World, name: str) -> float | None:
    """The fastest of the modes a card supports, as ethtool lists them."""
    reply = world.run("ethtool", name, patience_s=1.0)
    modes = re.search(
        r"Supported link modes:(.*?)(?:\n\t\S[^\n]*:|\Z)", reply.out if reply else "", re.DOTALL
    )
    speeds = [int(speed) for speed in re.findall(r"\b(\d{2,7})base", modes.group(1))] if modes else []
    return max(speeds) * MEGA / BITS if speeds else None


def _counted(world: World, folder: str, *, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    pairs = ((name, whole_of(world, f"{folder}/{name}")) for name in names)
    return tuple((name, count) for name, count in pairs if count is not None)


def rdma_kind(layer: str, *, node: str = "") -> str:
    """What a port of an RDMA card speaks: by its link layer, and by the kind of its node."""
    if "RNIC" in node or "iwarp" in node.lower():
        return "iwarp"
    return {"InfiniBand": "infiniband", "Ethernet": "roce", "": "infiniband"}.get(layer, "rdma")


def _rdma_port(world: World, card: str, *, number: str) -> Port:
    """One port of an InfiniBand or RoCE card."""
    at = f"{RDMA}/{card}/ports/{number}"
    rate = _RATE.match(word_of(world, f"{at}/rate") or "")
    phys = (word_of(world, f"{at}/phys_state") or "").partition(": ")[2].lower()
    state = (word_of(world, f"{at}/state") or "").partition(": ")[2]
    is_polling = phys in {"polling", "disabled", "sleep", "training"}
    driver = world.link(f"{RDMA}/{card}/device/driver")
    layer, node = (word_of(world, path) or "" for path in (f"{at}/link_layer", f"{RDMA}/{card}/node_type"))
    return Port(
        name=f"{card}/{number}",
        kind=rdma_kind(layer, node=node),
        model=word_of(world, f"{RDMA}/{card}/hca_type"),
        board=word_of(world, f"{RDMA}/{card}/board_id"),
        state=phys if is_polling else _STATES.get(state, state.lower() or None),
        bytes_per_s=float(rate.group(1)) * GIGA / BITS if rate else None,
        lanes=int(rate.group(2)) if rate and rate.group(2) else None,
        driver=driver.rpartition("/")[2] if driver else None,
        pci=address_above(world.link(f"{RDMA}/{card}/device")),
        firmware=word_of(world, f"{RDMA}/{card}/fw_ver"),
        numa_node=numa_of(world, f"{RDMA}/{card}/device"),
        counters=(
            *_counted(world, f"{at}/counters", names=RDMA_ERRORS),
            *_counted(world, f"{at}/hw_counters", names=_RDMA_HARDWARE),
        ),
    )
