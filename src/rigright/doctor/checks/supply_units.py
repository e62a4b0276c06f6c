"""Power supplies: present, fed and well.

A server with a failed supply goes on with the rest, until the next one fails or the load peaks: then it
switches off under load, or holds the cards back (power brake).

Fault: a supply says it failed or has lost its input. Warning: it is about to fail, or absent among others.
Source: IPMI specification, sensor type 08h (power supply).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen, step
from rigright.machine.host import Sensor

TITLE = say("power supplies are well")
SEE = "sudo ipmitool sdr type 'Power Supply'"
_WEAK = ("about to fail", "absent")


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each supply that is not well, else one for all."""
    supplies = [one for one in case.machine.sensors or () if one.kind == "supply"]
    bad = [one for one in supplies if one.status not in {None, "ok"}]
    for one in bad:
        yield _finding(one)
    if supplies and not bad:
        yield Fine(says=say("all well; supplies: {count}", count=len(supplies)))
    closed = next((one for one in case.machine.unseen if one.what == "sensors.ipmi"), None)
    if closed is not None:
        yield NotSeen(why=closed.why, see=closed.see)


def _finding(supply: Sensor) -> Finding:
    return Finding(
        severity="warning" if supply.status in _WEAK else "fault",
        title=say("a power supply says: {status}", status=supply.status or "?"),
        evidence=seen(say("{name}: {status}", name=supply.name, status=supply.status or "?"), SEE),
        why=say(
            "under full load the others may not be enough: cards are held back, or the machine switches off"
        ),
        fix=(
            step(
                say(
                    "check its cable, the socket and the breaker; then replace it (most can be while running)"
                )
            ),
            as_root(say("until then, keep the cards below a lower power limit"), "nvidia-smi -pl WATTS"),
        ),
        about=supply.name,
    )
