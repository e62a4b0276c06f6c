"""Error counters of InfiniBand and RoCE ports, as rates.

Symbol errors and links trained anew tell of a cable or transceiver; a link that went down breaks jobs off.
RoCE that sends again (out of sequence, retransmits) lacks flow control on its switches. What counts is how
fast a counter grows: between this reading and an earlier one of the same machine (its history, or `--before`)
where there is one, else since the machine was started. Without either a count is told and not judged.

A counter of 4 bits that stands at 15, or one of 8 bits at 255, is full: sound ports fill some of them in
their first hours. It is not observed until somebody clears it.

Warning: more an hour than data/port_counters.csv has for that counter, by the kind of port; widths by the
model of the card (data/nics.csv). Sources: InfiniBand Trade Association, volume 2 (BER); NVSentinel's NIC
monitor; ibqueryerrors; leptonai/gpud's live NDR node.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.nic import nic_at, rdma_ports
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, as_root, seen, step
from rigright.facts.nics import PortCounter, port_counters
from rigright.machine.host import Port

TITLE = say("errors of InfiniBand and RoCE ports")
_AN_HOUR_S = 3600
_OF_LEAST = 10  # between two readings a tenth of what says nothing over a lifetime is enough
_AGAIN = say("clear it, and look again after an hour of work")


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each port that errs, for each counter that is full, else one for all."""
    ports = [one for one in rdma_ports(case) if one.counters]
    full: dict[str, list[Port]] = {}
    found: list[Finding] = []
    for port in ports:
        counts = dict(port.counters)
        for counter in port_counters():
            count = counts.get(counter.name)
            if count is None or port.kind not in counter.kinds:
                continue
            if counter.is_full(count, nic=nic_at(case, port)):
                full.setdefault(counter.name, []).append(port)
            elif (judged := _judged(case, port, counter=counter)) is not None:
                found.append(_finding(port, judged, counter=counter))
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


def _judged(case: Case, port: Port, *, counter: PortCounter) -> tuple[Severity, Sentence] | None:
    """How a counter grew since an earlier reading, else since the start, where that is too much."""
    count, old = dict(port.counters)[counter.name], case.before
    ports = () if old is None else old.ports or ()
    told = next((dict(one.counters).get(counter.name) for one in ports if one.name == port.name), None)
    if old is not None and told is not None and told <= count:
        ends = old.system.now_s, case.machine.system.now_s
        return _grown(count - told, ends, counter=counter)
    up_s = dict(port.counters).get("counted_s", case.machine.system.up_s)
    if count < counter.least:
        return None
    if up_s is None:
        return "note", say(
            "counter {name} stands at {count}; a second reading tells whether it still grows",
            name=counter.name,
            count=count,
        )
    if count <= counter.per_hour * max(up_s / _AN_HOUR_S, 1.0):
        return None
    return "warning", say("counter {name} stands at {count}", name=counter.name, count=count)


def _grown(
    count: int, ends_s: tuple[float | None, float | None], *, counter: PortCounter
) -> tuple[Severity, Sentence] | None:
    """What came on between two readings; where their times are not told, any growth that says something."""
    then_s, now_s = ends_s
    if count < max(counter.least // _OF_LEAST, 1):
        return None
    if now_s is None or then_s is None or now_s <= then_s:
        return "warning", say(
            "counter {name} grew by {count} since the earlier reading", name=counter.name, count=count
        )
    if count <= counter.per_hour * (now_s - then_s) / _AN_HOUR_S:
        return None
    time = show_seconds(now_s - then_s)
    return "warning", say(
        "counter {name} grew by {count} in {time}", name=counter.name, count=count, time=time
    )


def _finding(port: Port, judged: tuple[Severity, Sentence], *, counter: PortCounter) -> Finding:
    severity, title = judged
    card, number = (shlex.quote(one) for one in port.name.partition("/")[::2])
    command = f"grep -H . /sys/class/infiniband/{card}/ports/{number}/*counters/{counter.name}"
    cable = step(say("clean or replace the cable and transceiver, then clear the counters and look again"))
    flow = step(say("set up flow control (PFC, ECN) alike on cards and switches"))
    clear = as_root(_AGAIN, f"perfquery -C {card} -P {number} -R")
    by_weight = {"flow": (flow,) if port.kind == "roce" else (), "wear": (cable,), "link": (cable,)}
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(title, command),
        why=say("packets are sent again, transfers stall, and jobs over several machines break off"),
        fix=(*by_weight[counter.weight], *((clear,) if port.kind == "infiniband" else ())) or (cable,),
        confidence="sure" if severity == "warning" else "maybe",
        about=port.name,
    )
