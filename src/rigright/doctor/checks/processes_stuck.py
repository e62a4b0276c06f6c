"""Whether processes wait without end for a device (state D), or the kernel told of ones that did.

A process in state D cannot be killed. With drivers of accelerators and network file systems it means that
the device or the server no longer answers; monitors that ask it pile up the same way.

Processes of the driver or of users in D at two looks: warning; with nvidia in their name: fault. The
kernel's word on tasks blocked for 120 seconds: warning. Source: Linux hung task detector; gpud's check of
D states.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import reboot
from rigright.doctor.happened import events
from rigright.doctor.log_lines import finding
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step
from rigright.doctor.stack import is_contained

TITLE = say("no process waits without end")
_SHOW = "ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /^D/'"
_DRIVERS = ("nv", "uvm", "amdgpu", "kfd")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for those seen now, one for those that the log tells of."""
    stuck = case.machine.system.stuck
    if stuck:
        of_driver = any(name.lower().startswith(_DRIVERS) for name in stuck)
        yield Finding(
            severity="fault" if of_driver else "warning",
            title=say("processes wait without end: {names}", names=", ".join(stuck[:5])),
            evidence=seen(", ".join(stuck[:10]), _SHOW),
            why=say("they cannot be ended, and hold what they hold: memory of cards, files, locks"),
            fix=(
                as_root(say("see what they wait for"), "cat /proc/PID/stack"),
                step(say("if it is a network file system: mend its server or the way to it")),
                reboot(),
            ),
            confidence="sure" if of_driver else "likely",
        )
    elif case.machine.system.up_s is not None and not is_contained(case):
        yield Fine(says=say("none"))
    told = events(case, "hung") or []
    if told:
        names = ", ".join(sorted({one.program for one in told if one.program})) or "?"
        yield finding(
            case,
            told,
            title=say("the kernel told of tasks that did not go on: {names}", names=names),
            why=say("a driver, a disk or a file server did not answer for minutes"),
            fix=(
                step(
                    say("look at what they waited for, in the lines after"),
                    "journalctl -k | grep -A20 'blocked for more'",
                ),
            ),
            severity="warning",
        )
