"""Speed of the network ports that are up.

A port that runs below what its card can has a cable, a plug or a switch port that does not carry more.
Between machines that train together 1 Gb/s is far too little: gradients of a 7B model take two minutes a
step.

Warning: less than a tenth of the card's rate, or 100 Mb/s and less. Note: below the card's rate; or 1 Gb/s
as the fastest port of a machine with several cards. Source: ethtool's list of the card's modes; guide 2 (10
GbE and more).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import GIGA, MEGA
from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, Severity, Verdict, seen, step
from rigright.machine.host import Port

TITLE = say("speed of the network")
BITS = 8
SLOW_BYTES_PER_S = 100 * MEGA / BITS
PLAIN_BYTES_PER_S = GIGA / BITS


def check(case: Case) -> Iterator[Verdict]:
    """A verdict a wired port that is up."""
    up = [
        one
        for one in case.machine.ports or ()
        if one.kind == "ethernet" and one.state == "up" and one.bytes_per_s
    ]
    for port in up:
        severity = _judged(port)
        if severity is not None:
            name = shlex.quote(port.name)
            now, most = _rate(port.bytes_per_s or 0.0), _rate(port.max_bytes_per_s or GIGA / BITS)
            yield Finding(
                severity=severity,
                title=say("the port runs at {now}, its card can {most}", now=now, most=most),
                evidence=seen(say("{now} of {most}", now=now, most=most), f"ethtool {name}"),
                why=say("data sets, checkpoints and other machines are reached at this rate"),
                fix=(
                    step(say("try another cable and another port of the switch")),
                    step(
                        say("look at what the other side offers"),
                        f"ethtool {name} | grep -A20 'Link partner'",
                    ),
                ),
                verify=f"ethtool {name} | grep Speed",
                about=port.name,
            )
        else:
            yield Fine(says=_rate(port.bytes_per_s or 0.0), about=port.name)
    rdma = any(one.kind in {"infiniband", "roce"} for one in case.machine.ports or ())
    fastest = max((one.bytes_per_s or 0.0 for one in up), default=0.0)
    if 0 < fastest <= PLAIN_BYTES_PER_S and not rdma and len(case.machine.devices) > 1:
        yield _plain(fastest)


def _rate(bytes_per_s: float) -> Sentence:
    return say("{rate} Gb/s", rate=f"{bytes_per_s * BITS / GIGA:g}")


def _judged(port: Port) -> Severity | None:
    now, most = port.bytes_per_s or 0.0, port.max_bytes_per_s
    if now <= SLOW_BYTES_PER_S:
        return "warning"
    if most is None or now >= most:
        return None
    return "warning" if now * 10 < most else "note"


def _plain(fastest: float) -> Finding:
    return Finding(
        severity="note",
        title=say("the fastest network port runs at {rate}", rate=_rate(fastest)),
        evidence=seen(say("no port is faster"), "ip -br link; ethtool DEVICE | grep Speed"),
        why=say(
            "enough for one machine; several that train together need 25 Gb/s and more, serving needs little"
        ),
        fix=(
            step(say("leave it, unless machines are to work together; then 25 to 400 Gb/s, best with RDMA")),
        ),
        verify=None,
    )
