"""Network ports: Ethernet, wireless, InfiniBand and RoCE."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

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
_STATES = {
    "active": "up",
    "up": "up",
    "down": "down",
    "init": "init",
    "initializing": "init",
    "armed": "init",
}
_NOT_YET = {"polling", "disabled", "sleep", "training"}  # of the physical state, which then says more
_RATE = re.compile(r"([\d.]{1,8})(?: Gb/sec \((\d{1,2})X)?")
_RDMA_FILES = {  # the files of /sys that describe a port: its card's, and its own
    **dict.fromkeys(("node_type", "hca_type", "board_id", "fw_ver"), "{card}"),
    **dict.fromkeys(("link_layer", "state", "phys_state", "rate"), "{card}/ports/{number}"),
}


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


def rdma_port(name: str, words: Mapping[str, str | None]) -> Port:
    """A port of an InfiniBand or RoCE card, of words under the names of the files of /sys."""
    rate = _RATE.match(words.get("rate") or "")
    return Port(
        name=name,
        kind=rdma_kind(words.get("link_layer") or "", node=words.get("node_type") or ""),
        model=words.get("hca_type"),
        board=words.get("board_id"),
        state=rdma_state(words.get("state"), words.get("phys_state")),
        bytes_per_s=float(rate[1]) * GIGA / BITS if rate else None,
        lanes=int(rate[2]) if rate and rate[2] else None,
        firmware=words.get("fw_ver"),
    )


def rdma_kind(layer: str, *, node: str = "") -> str:
    """What a port of an RDMA card speaks: by its link layer, and by the kind of its node."""
    if "RNIC" in node or "iwarp" in node.lower():
        return "iwarp"
    return {"InfiniBand": "infiniband", "Ethernet": "roce", "": "infiniband"}.get(layer, "rdma")


def rdma_state(state: str | None, physical: str | None) -> str | None:
    """Of "4: ACTIVE", "Active" or "PORT_ACTIVE (4)", and of "2: Polling" where the link is not up yet."""
    words = re.sub(r"^\d: |^port_", "", (state or "").lower()).split()
    physical = re.sub(r"^\d: ", "", (physical or "").lower())
    if physical in _NOT_YET:
        return physical
    return _STATES.get(words[0], words[0]) if words else None


def _rdma_port(world: World, card: str, *, number: str) -> Port:
    """One port of an InfiniBand or RoCE card."""
    at = f"{RDMA}/{card}/ports/{number}"
    words = {
        name: word_of(world, f"{RDMA}/{place.format(card=card, number=number)}/{name}")
        for name, place in _RDMA_FILES.items()
    }
    driver = world.link(f"{RDMA}/{card}/device/driver")
    return replace(
        rdma_port(f"{card}/{number}", words),
        driver=driver.rpartition("/")[2] if driver else None,
        pci=address_above(world.link(f"{RDMA}/{card}/device")),
        numa_node=numa_of(world, f"{RDMA}/{card}/device"),
        counters=(
            *_counted(world, f"{at}/counters", names=RDMA_ERRORS),
            *_counted(world, f"{at}/hw_counters", names=_RDMA_HARDWARE),
        ),
    )
