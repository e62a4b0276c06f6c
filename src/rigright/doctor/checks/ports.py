"""Ports of the network: up, fast, without errors, of one firmware, near the cards."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIGA, MEGA, show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering
from rigright.doctor.nic import alike, nic_at, rdma_ports
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, check
from rigright.facts.nics import PortCounter, port_counters
from rigright.machine.host import Port

AN_HOUR_S = 3600
OF_LEAST = 10  # between two readings a tenth of what says nothing over a lifetime is enough
FULL_LANES = 4
LEAST_ERRORS, FLAPS = 100, 10
ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "tx_carrier_errors")
SLOW_BYTES_PER_S, PLAIN_BYTES_PER_S = 100 * MEGA / 8, GIGA / 8


def gbit(bytes_per_s: float) -> Sentence:
    """A rate as ports are called."""
    return say("{rate} Gb/s", rate=f"{bytes_per_s * 8 / GIGA:g}")


@check(say("errors of InfiniBand and RoCE ports"))
def ib_errors(case: Case) -> Iterator[Verdict]:
    """Error counters of InfiniBand and RoCE ports, as rates.

    Symbol errors and links trained anew tell of a cable or transceiver; a link that went down breaks jobs
    off. RoCE that sends again (out of sequence, retransmits) lacks flow control on its switches. What counts
    is how fast a counter grows: between this reading and an earlier one of the same machine (its history, or
    `--before`) where there is one, else since the machine was started. Without either a count is told and
    not judged.

    A counter of 4 bits that stands at 15, or one of 8 bits at 255, is full: sound ports fill some of them in
    their first hours. It is not observed until somebody clears it.

    Warning: more an hour than data/port_counters.csv has for that counter, by the kind of port; widths by
    the model of the card (data/nics.csv). Sources: InfiniBand Trade Association, volume 2 (BER);
    NVSentinel's NIC monitor; ibqueryerrors; leptonai/gpud's live NDR node.
    """
    ports = [one for one in rdma_ports(case) if one.counters]
    full: dict[str, list[Port]] = {}
    found: list[Finding] = []
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
                found.append(
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
    yield from found
    if full:
        card, number = (shlex.quote(one) for one in next(iter(full.values()))[0].name.partition("/")[::2])
        told = (
            f"{name} {dict(alike[0].counters)[name]} ({', '.join(port.name for port in alike)})"
            for name, alike in full.items()
        )
        yield NotSeen(
            why=say(
                "counters that are full count no further, and say nothing until they are cleared "
                "(perfquery -R): {told}",
                told="; ".join(told),
            ),
            see=f"sudo perfquery -C {card} -P {number}",
        )
    if ports and not found:
        yield Fine(says=say("no errors of weight; ports: {count}", count=len(ports)))


def _judged(case: Case, port: Port, *, counter: PortCounter) -> tuple[str, dict[str, object]] | None:
    """How a counter grew since an earlier reading, else since the start, where that is too much."""
    count, old = dict(port.counters)[counter.name], case.before
    ports = () if old is None else old.ports or ()
    told = next((dict(one.counters).get(counter.name) for one in ports if one.name == port.name), None)
    if old is not None and told is not None and told <= count:
        return _grown(count - told, (old.system.now_s, case.machine.system.now_s), counter=counter)
    up_s = dict(port.counters).get("counted_s", case.machine.system.up_s)
    if count < counter.least:
        return None
    if up_s is None:
        return "ports.counter_once", {}
    return ("ports.counter", {}) if count > counter.per_hour * max(up_s / AN_HOUR_S, 1.0) else None


def _grown(
    count: int, ends_s: tuple[float | None, float | None], *, counter: PortCounter
) -> tuple[str, dict[str, object]] | None:
    """What came on between two readings; where their times are not told, any growth that says something."""
    then_s, now_s = ends_s
    if count < max(counter.least // OF_LEAST, 1):
        return None
    if now_s is None or then_s is None or now_s <= then_s:
        return "ports.counter_grew", {"count": count}
    if count <= counter.per_hour * (now_s - then_s) / AN_HOUR_S:
        return None
    return "ports.counter_grew_in", {"count": count, "time": show_seconds(now_s - then_s)}


@check(say("firmware of network cards is alike"))
def ib_firmware(case: Case) -> Iterator[Verdict]:
    """Firmware of network cards of one kind in one machine.

    Cards of one kind with unlike firmware behave unlike: rates, error handling and adaptive routing differ,
    and faults are hard to find.

    Note. Source: gpud and imbue's cluster health checks (firmware alike on all cards).
    """
    ids = {one.address: one.id for one in case.machine.pci or ()}
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


@check(say("InfiniBand and RoCE ports are up, alike and fast"))
def ib_ports(case: Case) -> Iterator[Verdict]:
    """Ports of InfiniBand and RoCE cards: up, fast as their board and their neighbours, with all lanes.

    Cards of one board in a machine are cabled alike. A port that is down or polling among ports that are up,
    one that runs at a lower rate, or on fewer lanes, makes each collective over several machines wait for
    it. A port that is down where none of its kind is up may simply not be cabled. Cards of other boards,
    other link layers (storage, iWARP, plain Ethernet) and second ports are not held against them.

    Warning: down among others that are up, a lower rate than most or than its very board is made for, or
    fewer than four lanes on an InfiniBand port that could have four. Where several ports share a lower rate,
    they may serve another network: a note. Sources: azurehpc-health-checks (IB rate); leptonai/gpud
    (expected rate and ports); data/nics.csv (boards and their rates).
    """
    for group in alike(case):
        up = [port for port in group if port.state == "up"]
        if not up and all(port.state is not None for port in group):
            yield Fine(says=say("none cabled; ports: {count}", count=len(group)))
            continue
        rates = Counter(port.bytes_per_s for port in up if port.bytes_per_s)
        usual = max(rates, key=lambda rate: (rates[rate], rate), default=0.0)
        found = [odd for port in group if (odd := _odd(case, port, usual=usual, rates=rates)) is not None]
        yield from found
        if not found:
            yield Fine(says=say("{rate} each; ports: {count}", count=len(group), rate=gbit(usual)))


def _odd(case: Case, port: Port, *, usual: float, rates: Counter[float]) -> Finding | None:
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
    if name is None or (is_down and not rates):
        return None
    card, _, number = port.name.partition("/")
    return advise(
        name,
        {"state": port.state, "count": rates.total(), "lanes": lanes, "most": FULL_LANES}
        | {"now": gbit(rate), "usual": gbit(usual), "made_for": gbit(made_for)},
        severity="note" if name == "ports.slower" and rates[rate] != 1 else None,
        about=port.name,
        card=card,
        number=number,
        vendor=port.kind,
    )


@check(say("errors of the network ports"))
def net_errors(case: Case) -> Iterator[Verdict]:
    """Errors and lost links of the network ports, and bonds that lack a member.

    Errors on a wired port are nearly always a cable, a plug or a transceiver. A link that goes away now and
    then breaks off jobs that span machines.

    Warning: more than one packet in a million with an error (and at least 100), a link lost more than ten
    times, or a bond with a member down. Source: Linux network statistics; thresholds of Azure's health
    checks (link flaps in a day) and of common practice.
    """
    ports = [one for one in case.machine.ports or () if one.kind in {"ethernet", "bond"}]
    is_fine = bool(ports)
    for port in ports:
        counts = Counter(dict(port.counters))
        errors, packets = max(counts[name] for name in ERRORS), counts["rx_packets"] + counts["tx_packets"]
        seen = {
            "ports.packets": errors >= LEAST_ERRORS and errors * MEGA > packets,
            "ports.link_lost": counts["carrier_down"] > FLAPS and port.state == "up",
            "ports.bond": counts["members_up"] < counts["members"],
        }
        shown = {"errors": errors, "packets": packets, "count": counts["carrier_down"]}
        shown |= {"up": counts["members_up"], "members": counts["members"]}
        for name in (name for name, holds in seen.items() if holds):
            is_fine = False
            yield advise(name, shown, about=port.name, port=port.name)
    if is_fine:
        yield Fine(says=say("no errors of weight; ports: {count}", count=len(ports)))


@check(say("speed of the network"))
def net_speed(case: Case) -> Iterator[Verdict]:
    """Speed of the network ports that are up.

    A port that runs below what its card can has a cable, a plug or a switch port that does not carry more.
    Between machines that train together 1 Gb/s is far too little: gradients of a 7B model take two minutes a
    step.

    Warning: less than a tenth of the card's rate, or 100 Mb/s and less. Note: below the card's rate; or 1
    Gb/s as the fastest port of a machine with several cards. Source: ethtool's list of the card's modes;
    guide 2 (10 GbE and more).
    """
    up = {
        one: one.bytes_per_s
        for one in case.machine.ports or ()
        if one.kind == "ethernet" and one.state == "up" and one.bytes_per_s
    }
    for port, now in up.items():
        most = port.max_bytes_per_s or 0.0
        if now <= SLOW_BYTES_PER_S or now < most:
            severity: Severity = "warning" if now <= SLOW_BYTES_PER_S or now * 10 < most else "note"
            shown = {"now": gbit(now), "most": gbit(most or PLAIN_BYTES_PER_S)}
            yield advise("ports.speed", shown, severity=severity, about=port.name, port=port.name)
        else:
            yield Fine(says=gbit(now), about=port.name)
    fastest = max(up.values(), default=0.0)
    if 0 < fastest <= PLAIN_BYTES_PER_S and not rdma_ports(case) and len(case.machine.devices) > 1:
        yield advise("ports.plain", rate=gbit(fastest))


@check(say("each card has a network card near it"))
def nic_affinity(case: Case) -> Iterator[Verdict]:
    """Whether each card has a network card near it: in its memory domain.

    GPUDirect RDMA goes from a card straight to a network card below the same switch or, at the least, the
    same socket. Where a card has none near it, its traffic crosses the link between sockets: the rate falls
    by half and more, and NCCL shares the network cards of others. Boards of eight cards have one network
    card for each.

    Warning: a card without one near it on a machine with as many ports as cards. Note: with fewer. Machines
    of one memory domain, without InfiniBand or RoCE, and those that do not tell domains are not asked.
    Source: NVIDIA GPUDirect RDMA documentation; nvidia-smi topo -m.
    """
    cards = [device for device, _ in answering(case) if device.numa_node is not None and not device.mig]
    ports = [one for one in rdma_ports(case) if one.state in {"up", None} and one.numa_node is not None]
    domains = {one.numa_node for one in cards} | {one.numa_node for one in ports}
    if len(cards) < 2 or not ports or len(domains) < 2 or min(map(int, filter(None, domains)), default=0) < 0:
        return
    near = {card.index: [one.name for one in ports if one.numa_node == card.numa_node] for card in cards}
    lonely = [card for card in cards if not near[card.index]]
    others = ", ".join(sorted({str(one.numa_node) for one in ports}))
    severity: Severity = "warning" if len(ports) >= len(cards) else "note"
    for card in lonely:
        yield advise("ports.far", severity=severity, about=label(card), card=card.numa_node, others=others)
    if not lonely:
        told = "; ".join(f"{label(card)}: {', '.join(near[card.index][:4])}" for card in cards[:8])
        yield Fine(says=say("near: {told}", told=told))
