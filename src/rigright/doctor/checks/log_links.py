"""Network links that went down and came back.

A link of InfiniBand or Ethernet that flaps breaks every collective that crosses it: NCCL waits, and ends
the job after its time limit. Cables, transceivers and switch ports are the usual causes.

Since the last boot, from three times on: warning on a machine with fast ports. One or two are a plugged
cable. Source: Azure node health checks (link flaps in 24 hours); NCCL troubleshooting.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from rigright.base.units import GIGA
from rigright.base.words import say
from rigright.doctor.happened import events, is_before_boot
from rigright.doctor.log_lines import finding, unseen
from rigright.doctor.record import Case, Fine, Verdict, step
from rigright.machine.system import Event

TITLE = say("network links stay up")
_OFTEN = 3
_FAST_BYTES_PER_S = 10 * GIGA / 8
_NAME = re.compile(
    r"(mlx\d_\d+|(?:en|ib|eth|bond)[\w.]+|\S+(?=: (?:(?:NIC )?Link|Lost carrier|carrier lost)))"
)


def check(case: Case) -> Iterator[Verdict]:
    """A finding for each port that flaps."""
    fast = any(
        (port.max_bytes_per_s or port.bytes_per_s or 0) >= _FAST_BYTES_PER_S
        for port in case.machine.ports or ()
    )
    if not fast:
        return
    closed = unseen(case, "link is down|lost carrier|link down")
    if closed is not None:
        yield closed
        return
    groups: dict[str, list[Event]] = {}
    for event in events(case, "link") or []:
        if not is_before_boot(case, event):
            match = _NAME.search(event.text)
            groups.setdefault(match[1] if match else "?", []).append(event)
    often = {name: same for name, same in groups.items() if len(same) >= _OFTEN}
    if not often:
        yield Fine(says=say("none that comes and goes in the kernel log"))
    for name, same in often.items():
        told = finding(
            case,
            same,
            title=say("a link went down {count} times since the start", count=len(same)),
            why=say("collectives across it wait, and jobs end at their time limit"),
            fix=(
                step(say("look at its errors"), f"ethtool -S {shlex.quote(name)} || perfquery"),
                step(say("change cable or transceiver, then the port of the switch")),
            ),
            severity="warning",
        )
        yield replace(told, about=told.about if name == "?" else name)
