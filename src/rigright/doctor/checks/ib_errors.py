"""Error counters of InfiniBand and RoCE ports.

Symbol errors and link recoveries tell of a cable or transceiver; a link that went down breaks jobs off.
RoCE that sends again (out of sequence, retransmits) lacks flow control on its switches.

Warning: a link that recovered or went down more than ten times; symbol errors above 120 an hour of uptime
(the InfiniBand bit error rate of 1e-12 at the slowest rate); out-of-sequence packets above 1 000 an hour on
RoCE. Counters count since the driver was loaded. Source: InfiniBand Trade Association, volume 2 (BER);
azurehpc-health- checks (flaps); NVIDIA's counter documentation.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.host import Port

TITLE = say("errors of InfiniBand and RoCE ports")
FLAPS = 10
SYMBOLS_AN_HOUR, SEQUENCE_AN_HOUR = 120.0, 1000.0
_OFTEN = (
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each port that errs, else one for all."""
    ports = [one for one in case.machine.ports or () if one.kind in {"infiniband", "roce"} and one.counters]
    hours = max((case.machine.system.up_s or 0.0) / 3600, 1.0)
    found = [_finding(port, title) for port in ports for title in _judged(port, hours)]
    yield from found
    if ports and not found:
        yield Fine(says=say("no errors of weight; ports: {count}", count=len(ports)))


def _judged(port: Port, hours: float) -> Iterator[Sentence]:
    counts = dict(port.counters)
    for name in _OFTEN:
        if counts.get(name, 0) > FLAPS:
            yield say("counter {name} stands at {count}", name=name, count=counts[name])
    if counts.get("symbol_error", 0) > SYMBOLS_AN_HOUR * hours:
        yield say("counter {name} stands at {count}", name="symbol_error", count=counts["symbol_error"])
    if port.kind == "roce" and counts.get("out_of_sequence", 0) > SEQUENCE_AN_HOUR * hours:
        yield say("counter {name} stands at {count}", name="out_of_sequence", count=counts["out_of_sequence"])


def _finding(port: Port, title: Sentence) -> Finding:
    card, number = (shlex.quote(one) for one in port.name.partition("/")[::2])
    command = f"grep -H . /sys/class/infiniband/{card}/ports/{number}/counters/*"
    cable = step(say("clean or replace the cable and transceiver, then clear the counters and look again"))
    flow = step(say("set up flow control (PFC, ECN) alike on cards and switches"))
    return Finding(
        severity="warning",
        title=title,
        evidence=seen(title, command),
        why=say("packets are sent again, transfers stall, and jobs over several machines break off"),
        fix=(flow, cable) if port.kind == "roce" else (cable,),
        about=port.name,
    )
