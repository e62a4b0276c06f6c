"""Network ports: link state, speed, errors, firmware; and the NICs of each GPU: how near, how fast."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIGA, MEGA, show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering
from rigright.doctor.nic import alike, nic_at, rdma_ports
from rigright.doctor.record import CheckInput, Finding, Fine, NotSeen, Severity, Verdict, check
from rigright.facts.fabrics import network_of
from rigright.facts.nics import PortCounter, port_counters
from rigright.machine.host import Port

_AN_HOUR_S = 3600
_OF_LEAST = 10  # between two readings a tenth of what says nothing over a lifetime is enough
FULL_LANES = 4
_LEAST_ERRORS, _FLAPS = 100, 10
ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "tx_carrier_errors")
_SLOW_BYTES_PER_S, _PLAIN_BYTES_PER_S = 100 * MEGA / 8, GIGA / 8
WAYS = ("PIX", "PXB", "PHB", "NODE", "SYS")  # nearest first; the first two stay below a switch
_BELOW_A_SWITCH = 1
ENOUGH = 0.75  # of what boards of the chip have


def _gbit(bytes_per_s: float) -> Sentence:
    """A rate as ports are called."""
    return say("{rate} Gb/s", rate=f"{bytes_per_s * 8 / GIGA:g}")


@check(say("InfiniBand and RoCE error counters"))
def ib_errors(case: CheckInput) -> Iterator[Verdict]:
    """Error counters of InfiniBand and RoCE ports, as rates.

    Symbol errors and link recoveries point at a cable or transceiver; a link that goes down aborts jobs.
    RoCE retransmits (out of sequence) point at missing flow control on the switches. What counts is the
    growth: between this reading and an earlier one of the same machine (its history, or `--before`),
    otherwise since boot. Without either, a counter is shown and not judged.

    A 4-bit counter at 15 or an 8-bit one at 255 is saturated: healthy ports fill some of them in their
    first hours. It is skipped until somebody clears it.

    Warning: more per hour than data/port_counters.csv allows for that counter and kind of port; widths
    by NIC model (data/nics.csv). Sources: InfiniBand Trade Association, volume 2 (BER); NVSentinel's NIC
    monitor; ibqueryerrors; leptonai/gpud's live NDR node.
    """
    ports = [rdma_port for rdma_port in rdma_ports(case) if rdma_port.counters]
    full: dict[str, list[Port]] = {}
    findings: list[Finding] = []
    for port in ports:
        counts = dict(port.counters)
        card, _, number = port.name.partition("/")
        for counter in port_counters():
            count = counts.get(counter.name)
            if count is None or port.kind not in counter.kinds:
                continue
            if counter.is_full(count, nic=nic_at(case, port)):
                full.setdefault(counter.name, []).append(port)
            elif (judged := _judged(case, port, counter=counter)) is not None:
                is_flow = counter.weight == "flow"
                findings.append(
                    advise(
                        judged[0],
                        {"count": count} | judged[1],
                        about=port.name,
                        name=counter.name,
                        card=card,
                        number=number,
                        lacks_flow_control=is_flow and port.kind == "roce",
                        is_worn=not is_flow,
                        can_clear=port.kind == "infiniband",
                    )
                )
    yield from findings
    if full:
        card, number = (shlex.quote(text) for text in next(iter(full.values()))[0].name.partition("/")[::2])
        texts = (
            f"{name} {dict(alike[0].counters)[name]} ({', '.join(port.name for port in alike)})"
            for name, alike in full.items()
        )
        yield NotSeen(
            why=say(
                "saturated counters are meaningless until cleared (perfquery -R): {told}",
                told="; ".join(texts),
            ),
            see=f"sudo perfquery -C {card} -P {number}",
        )
    if ports and not findings:
        yield Fine(says=say("no significant errors; ports: {count}", count=len(ports)))


def _judged(case: CheckInput, port: Port, *, counter: PortCounter) -> tuple[str, dict[str, object]] | None:
    """How a counter grew since an earlier reading, else since the start, where that is too much."""
    count, old = dict(port.counters)[counter.name], case.before
    ports = () if old is None else old.ports or ()
    number = next((dict(item.counters).get(counter.name) for item in ports if item.name == port.name), None)
    if old is not None and number is not None and number <= count:
        return _grown(count - number, (old.system.now_s, case.machine.system.now_s), counter=counter)
    up_s = dict(port.counters).get("counted_s", case.machine.system.up_s)
    if count < counter.least:
        return None
    if up_s is None:
        return "ports.counter_once", {}
    return ("ports.counter", {}) if count > counter.per_hour * max(up_s / _AN_HOUR_S, 1.0) else None


def _grown(
    count: int, ends_s: tuple[float | None, float | None], *, counter: PortCounter
) -> tuple[str, dict[str, object]] | None:
    """What came on between two readings; where their times are not told, any growth that says something."""
    then_s, now_s = ends_s
    if count < max(counter.least // _OF_LEAST, 1):
        return None
    if now_s is None or then_s is None or now_s <= then_s:
        return "ports.counter_grew", {"count": count}
    if count <= counter.per_hour * (now_s - then_s) / _AN_HOUR_S:
        return None
    return "ports.counter_grew_in", {"count": count, "time": show_seconds(now_s - then_s)}


@check(say("NIC firmware versions"))
def ib_firmware(case: CheckInput) -> Iterator[Verdict]:
    """Firmware versions of NICs of one model.

    NICs with different firmware differ in rates, error handling and adaptive routing, and faults are
    hard to track down.

    Note. Source: gpud and imbue's cluster health checks (firmware alike on all NICs).
    """
    ids = {device.address: device.id for device in case.machine.pci or ()}
    kinds: dict[tuple[str, str], list[Port]] = {}
    for port in case.machine.ports or ():
        if port.firmware is not None:
            kinds.setdefault((port.kind, ids.get(port.pci or "", "")), []).append(port)
    for same in kinds.values():
        usual = Counter(port.firmware for port in same).most_common(1)[0][0]
        odd = [f"{port.name}: {port.firmware}" for port in same if port.firmware != usual]
        if odd:
            yield advise("ports.firmware", odd=", ".join(odd[:8]), usual=usual or "?")
        else:
            yield Fine(says=say("all {version}; ports: {count}", count=len(same), version=usual))


@check(say("InfiniBand and RoCE link state and speed"))
def ib_ports(case: CheckInput) -> Iterator[Verdict]:
    """InfiniBand and RoCE ports: up, at full speed and width, like their peers.

    NICs of one model in a machine are cabled alike. A port that is down or polling among ports that are
    up, or that runs at a lower rate or width, slows every multi-node collective. A port that is down
    where none of its kind is up may simply not be cabled. NICs of other models, other link layers
    (storage, iWARP, plain Ethernet) and second ports are not compared.

    Warning: down while others are up, a lower rate than most or than the NIC's rating, or fewer than
    four lanes on an InfiniBand port that supports four. Note: several ports share a lower rate, which
    may be another network. Sources: azurehpc-health-checks (IB rate); leptonai/gpud (expected rate and
    ports); data/nics.csv (NIC models and their rates).
    """
    for group in alike(case):
        up = [port for port in group if port.state == "up"]
        if not up and all(port.state is not None for port in group):
            if case.is_fragment:
                yield from (_advised("ports.unlinked", port, state=port.state) for port in group)
            else:
                yield Fine(says=say("no port is cabled; ports: {count}", count=len(group)))
            continue
        rates = Counter(port.bytes_per_s for port in up if port.bytes_per_s)
        usual = max(rates, key=lambda rate: (rates[rate], rate), default=0.0)
        findings = [odd for port in group if (odd := _odd(case, port, usual=usual, up=up)) is not None]
        yield from findings
        if not findings:
            yield Fine(says=say("{rate} each; ports: {count}", count=len(group), rate=_gbit(usual)))


def _odd(case: CheckInput, port: Port, *, usual: float, up: list[Port]) -> Finding | None:
    """What stands out, where others or its board show how it should be."""
    nic, rate = nic_at(case, port), port.bytes_per_s or usual
    made_for = nic.bytes_per_s if nic is not None and nic.board is not None else 0.0
    lanes = port.lanes or FULL_LANES
    is_down = port.state not in {"up", None}
    has_few = port.kind == "infiniband" and lanes < FULL_LANES and not 0 < made_for <= rate
    name = first(
        {
            "ports.down": is_down,
            "ports.few_lanes": has_few,
            "ports.slower": rate < usual,
            "ports.below_board": 0 < rate < made_for,
        }
    )
    if name is None or (is_down and not up):
        return None
    shared = name == "ports.slower" and sum(item.bytes_per_s == rate for item in up) != 1
    rates = {"now": _gbit(rate), "usual": _gbit(usual), "made_for": _gbit(made_for)}
    counts = {"count": len(up), "lanes": lanes, "most": FULL_LANES}
    return _advised(name, port, state=port.state, severity="note" if shared else None, **rates, **counts)


def _advised(name: str, port: Port, *, severity: Severity | None = None, **values: object) -> Finding:
    """A finding about a port, with the commands of its card."""
    card, _, number = port.name.partition("/")
    given = {"card": card, "number": number, "vendor": port.kind, **values}
    return advise(name, given, severity=severity, about=port.name)


@check(say("Ethernet errors, flaps and bonds"))
def net_errors(case: CheckInput) -> Iterator[Verdict]:
    """Ethernet errors, link flaps and degraded bonds.

    Errors on a wired port are nearly always a cable, connector or transceiver. A link that flaps aborts
    multi-node jobs.

    Warning: more than one error per million packets (and at least 100), more than ten link losses, or a
    bond with a member down. Source: Linux network statistics; thresholds of Azure's health checks (link
    flaps in a day) and of common practice.
    """
    ports = [item for item in case.machine.ports or () if item.kind in {"ethernet", "bond"}]
    is_fine = bool(ports)
    for port in ports:
        counts = Counter(dict(port.counters))
        errors, packets = max(counts[name] for name in ERRORS), counts["rx_packets"] + counts["tx_packets"]
        seen = {
            "ports.packets": errors >= _LEAST_ERRORS and errors * MEGA > packets,
            "ports.link_lost": counts["carrier_down"] > _FLAPS and port.state == "up",
            "ports.bond": counts["members_up"] < counts["members"],
        }
        shown = {"errors": errors, "packets": packets, "count": counts["carrier_down"]}
        shown |= {"up": counts["members_up"], "members": counts["members"]}
        for name in (name for name, holds in seen.items() if holds):
            is_fine = False
            yield advise(name, shown, about=port.name, port=port.name)
    if is_fine:
        yield Fine(says=say("no significant errors; ports: {count}", count=len(ports)))


@check(say("Ethernet link speed"))
def net_speed(case: CheckInput) -> Iterator[Verdict]:
    """Link speed of the Ethernet ports that are up.

    A port below its NIC's speed has a cable, connector or switch port that does not carry more. 1 Gb/s
    between nodes is far too little for training: gradients of a 7B model take two minutes a step.

    Warning: less than a tenth of the NIC's speed, or 100 Mb/s and less. Note: below the NIC's speed; or
    1 Gb/s as the fastest port of a multi-GPU machine. Source: ethtool's list of supported modes; guide 2
    (10 GbE and more).
    """
    up = {
        item: item.bytes_per_s
        for item in case.machine.ports or ()
        if item.kind == "ethernet" and item.state == "up" and item.bytes_per_s
    }
    for port, now in up.items():
        most = port.max_bytes_per_s or 0.0
        if now <= _SLOW_BYTES_PER_S or now < most:
            severity: Severity = "warning" if now <= _SLOW_BYTES_PER_S or now * 10 < most else "note"
            shown = {"now": _gbit(now), "most": _gbit(most or _PLAIN_BYTES_PER_S)}
            yield advise("ports.speed", shown, severity=severity, about=port.name, port=port.name)
        else:
            yield Fine(says=_gbit(now), about=port.name)
    fastest = max(up.values(), default=0.0)
    if 0 < fastest <= _PLAIN_BYTES_PER_S and not rdma_ports(case) and len(case.machine.devices) > 1:
        yield advise("ports.plain", rate=_gbit(fastest))


@check(say("NIC on each GPU's NUMA node"))
def nic_affinity(case: CheckInput) -> Iterator[Verdict]:
    """Whether each GPU has a NIC on its NUMA node.

    GPUDirect RDMA goes from a GPU straight to a NIC below the same switch or at least the same socket.
    Without one, traffic crosses the socket interconnect: bandwidth falls by half or more, and NCCL
    shares other GPUs' NICs. Eight-GPU servers have one NIC per GPU.

    Warning: a GPU without a local NIC on a machine with as many ports as GPUs. Note: with fewer ports.
    Skipped on machines with a single NUMA node, without InfiniBand or RoCE, or without NUMA information.
    Source: NVIDIA GPUDirect RDMA documentation; nvidia-smi topo -m.
    """
    cards = [device for device, _ in answering(case) if device.numa_node is not None and not device.mig]
    ports = [port for port in rdma_ports(case) if port.state in {"up", None} and port.numa_node is not None]
    domains = {item.numa_node for item in cards} | {port.numa_node for port in ports}
    if len(cards) < 2 or not ports or len(domains) < 2 or min(map(int, filter(None, domains)), default=0) < 0:
        return
    near = {card.index: [port.name for port in ports if port.numa_node == card.numa_node] for card in cards}
    lonely = [card for card in cards if not near[card.index]]
    others = ", ".join(sorted({str(port.numa_node) for port in ports}))
    severity: Severity = "warning" if len(ports) >= len(cards) else "note"
    for card in lonely:
        yield advise("ports.far", severity=severity, about=label(card), card=card.numa_node, others=others)
    if not lonely:
        text = "; ".join(f"{label(card)}: {', '.join(near[card.index][:4])}" for card in cards[:8])
        yield Fine(says=say("same NUMA node: {told}", told=text))


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
    if len(cards) < 2 or min(best.values()) > _BELOW_A_SWITCH:
        return
    far = [card for card in cards if best[card.index] > _BELOW_A_SWITCH]
    for card in far:
        near = next(name for name, way in card.nics if way == WAYS[best[card.index]] or way not in WAYS)
        yield advise("ports.far_of_peers", about=label(card), way=WAYS[best[card.index]], near=near)
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
        yield advise("ports.below_usual", shown)
    else:
        yield Fine(says=say("{has} Gb/s per GPU", has=shown["has"]))
