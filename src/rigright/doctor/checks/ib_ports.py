"""Ports of InfiniBand and RoCE cards: up, at the rate of their neighbours, with all lanes.

Cards of one kind in a machine are cabled alike. A port that is down or polling among ports that are up, one
that runs at a lower rate, or on fewer lanes, makes each collective over several machines wait for it. A
port that is down where none of its kind is up may simply not be cabled.

Warning: down among others that are up, a lower rate than most, or fewer than four lanes on an InfiniBand
port. Expectations come from the other ports of the machine. Source: azurehpc-health-checks (IB rate);
leptonai/gpud (expected rate and ports only where configured).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from rigright.base.units import GIGA
from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.host import Port

TITLE = say("InfiniBand and RoCE ports are up, alike and fast")
FULL_LANES = 4
BITS = 8


def check(case: Case) -> Iterator[Verdict]:
    """A verdict a port that stands out, else one for all."""
    ports = [one for one in case.machine.ports or () if one.kind in {"infiniband", "roce"}]
    kinds = {(port.kind, _card(case, port)) for port in ports}
    for kind in sorted(kinds):
        alike = [port for port in ports if (port.kind, _card(case, port)) == kind]
        yield from _of_kind(alike)


def _card(case: Case, port: Port) -> str:
    return next((one.id for one in case.machine.pci or () if one.address == port.pci), "")


def _of_kind(alike: list[Port]) -> Iterator[Verdict]:
    up = [port for port in alike if port.state == "up"]
    if not up:
        yield Fine(says=say("none cabled; ports: {count}", count=len(alike)))
        return
    usual = Counter(port.bytes_per_s for port in up).most_common(1)[0][0]
    found = [
        _finding(port, title)
        for port in alike
        if (title := _odd(port, usual or 0.0, most=len(up))) is not None
    ]
    yield from found
    if not found:
        yield Fine(
            says=say(
                "{rate} Gb/s each; ports: {count}", count=len(up), rate=f"{(usual or 0.0) * BITS / GIGA:g}"
            )
        )


def _odd(port: Port, usual: float, *, most: int) -> Sentence | None:
    """What stands out, where others show how it should be."""
    if port.state not in {"up", None}:
        return say("the port is {state} while {count} like it are up", state=port.state, count=most)
    if port.kind == "infiniband" and port.lanes is not None and port.lanes < FULL_LANES:
        return say("the port runs on {lanes} of {most} lanes", lanes=port.lanes, most=FULL_LANES)
    if port.bytes_per_s is not None and port.bytes_per_s < usual:
        rates = (f"{rate * BITS / GIGA:g}" for rate in (port.bytes_per_s, usual))
        return say("the port runs at {now} Gb/s, others at {usual}", now=next(rates), usual=next(rates))
    return None


def _finding(port: Port, title: Sentence) -> Finding:
    card, number = (shlex.quote(one) for one in port.name.partition("/")[::2])
    command = f"ibstat {card} {number}" if port.kind == "infiniband" else f"rdma link show {card}/{number}"
    return Finding(
        severity="warning",
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
