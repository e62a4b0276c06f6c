"""Ports of InfiniBand and RoCE cards: up, at the rate of their board and of their neighbours, with all lanes.

Cards of one board in a machine are cabled alike. A port that is down or polling among ports that are up, one
that runs at a lower rate, or on fewer lanes, makes each collective over several machines wait for it. A
port that is down where none of its kind is up may simply not be cabled. Cards of other boards, other link
layers (storage, iWARP, plain Ethernet) and second ports are not held against them.

Warning: down among others that are up, a lower rate than most or than its very board is made for, or fewer
than four lanes on an InfiniBand port that could have four. Where several ports share a lower rate, they may
serve another network: a note. Sources: azurehpc-health-checks (IB rate); leptonai/gpud (expected rate and
ports); data/nics.csv (boards and their rates).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIGA
from rigright.base.words import Sentence, say
from rigright.doctor.nic import alike, nic_at
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.machine.host import Port

TITLE = say("InfiniBand and RoCE ports are up, alike and fast")
FULL_LANES = 4
BITS = 8


def check(case: Case) -> Iterator[Verdict]:
    """A verdict a port that stands out, else one for all of a kind."""
    for group in alike(case):
        up = [port for port in group if port.state == "up"]
        if not up and all(port.state is not None for port in group):
            yield Fine(says=say("none cabled; ports: {count}", count=len(group)))
            continue
        rates = Counter(port.bytes_per_s for port in up if port.bytes_per_s)
        usual = max(rates, key=lambda rate: (rates[rate], rate), default=0.0)
        found = [
            _finding(port, told)
            for port in group
            if (told := _odd(case, port, usual=usual, rates=rates)) is not None
        ]
        yield from found
        if not found:
            yield Fine(says=say("{rate} each; ports: {count}", count=len(group), rate=_gbit(usual)))


def _gbit(rate: float) -> Sentence:
    return say("{rate} Gb/s", rate=f"{rate * BITS / GIGA:g}")


def _odd(case: Case, port: Port, *, usual: float, rates: Counter[float]) -> tuple[Severity, Sentence] | None:
    """What stands out, where others or its board show how it should be."""
    most = sum(rates.values())
    if port.state not in {"up", None}:
        title = say("the port is {state} while {count} like it are up", state=port.state, count=most)
        return ("warning", title) if most else None
    nic, rate = nic_at(case, port), port.bytes_per_s or usual
    made_for = nic.bytes_per_s if nic is not None and nic.board is not None else 0.0
    lanes = port.lanes or FULL_LANES
    if port.kind == "infiniband" and lanes < FULL_LANES and not 0 < made_for <= rate:
        return "warning", say("the port runs on {lanes} of {most} lanes", lanes=lanes, most=FULL_LANES)
    if rate < usual:
        title = say("the port runs at {now}, others at {usual}", now=_gbit(rate), usual=_gbit(usual))
        return ("warning" if rates[rate] == 1 else "note"), title
    title = say("the port runs at {now}, its board is made for {most}", now=_gbit(rate), most=_gbit(made_for))
    return ("warning", title) if 0 < rate < made_for else None


def _finding(port: Port, told: tuple[Severity, Sentence]) -> Finding:
    severity, title = told
    card, number = (shlex.quote(one) for one in port.name.partition("/")[::2])
    command = f"ibstat {card} {number}" if port.kind == "infiniband" else f"rdma link show {card}/{number}"
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(title, command),
        why=say("collectives over several machines wait for the slowest port"),
        fix=(
            step(
                say(
                    "seat the cable and transceiver anew, or replace them; compare with the port of the "
                    "switch"
                )
            ),
            step(say("read what the card says of its link"), f"sudo mlxlink -d {card} -m"),
        ),
        about=port.name,
    )
