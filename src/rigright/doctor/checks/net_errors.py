"""Errors and lost links of the network ports, and bonds that lack a member.

Errors on a wired port are nearly always a cable, a plug or a transceiver. A link that goes away now and
then breaks off jobs that span machines.

Warning: more than one packet in a million with an error (and at least 100), a link lost more than ten
times, or a bond with a member down. Source: Linux network statistics; thresholds of Azure's health checks
(link flaps in a day) and of common practice.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import MEGA
from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.host import Port

TITLE = say("errors of the network ports")
LEAST, FLAPS = 100, 10
_ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "tx_carrier_errors")


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each port that errs, else one for all."""
    ports = [one for one in case.machine.ports or () if one.kind in {"ethernet", "bond"}]
    found = [_finding(port, title) for port in ports for title in _judged(port)]
    yield from found
    if ports and not found:
        yield Fine(says=say("no errors of weight; ports: {count}", count=len(ports)))


def _judged(port: Port) -> Iterator[Sentence]:
    counts = dict(port.counters)
    errors = max((counts.get(name, 0) for name in _ERRORS), default=0)
    packets = counts.get("rx_packets", 0) + counts.get("tx_packets", 0)
    if errors >= LEAST and errors * MEGA > packets:
        yield say("{errors} packets with errors of {packets}", errors=errors, packets=packets)
    if counts.get("carrier_down", 0) > FLAPS and port.state == "up":
        yield say("the link went away {count} times since boot", count=counts["carrier_down"])
    if counts.get("members_up", 0) < counts.get("members", 0):
        yield say(
            "{up} of {members} members of the bond are up", up=counts["members_up"], members=counts["members"]
        )


def _finding(port: Port, title: Sentence) -> Finding:
    name = shlex.quote(port.name)
    command = f"ip -s link show {name}; ethtool -S {name} | grep -iE 'err|crc|drop'"
    return Finding(
        severity="warning",
        title=title,
        evidence=seen(title, command),
        why=say("packets are sent again, transfers stall, and jobs over several machines break off"),
        fix=(step(say("replace the cable or transceiver; if it goes on, take another port of the switch")),),
        about=port.name,
    )
