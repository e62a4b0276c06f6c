"""Whether the processor was slowed by heat since boot.

The kernel counts each time a core or a package ran into its heat limit. A few at boot or under an odd load
mean little; many mean a cooler that is loose, dusty or too small, and threads that feed the cards at half
speed.

Warning: more than 100 times and more than once a minute of uptime; else a note. Source: Linux
thermal_throttle counters; threshold ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("the processor is not slowed by heat")
MANY = 100
SEE = "grep -H . /sys/devices/system/cpu/cpu0/thermal_throttle/*count"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict, where the kernel counts."""
    times = case.machine.cpu.throttled
    if times is None:
        return
    if times == 0:
        yield Fine(says=say("never since boot"))
        return
    minutes = (case.machine.system.up_s or 0.0) / 60
    yield Finding(
        severity="warning" if times > MANY and times > minutes else "note",
        title=say("a core was slowed by heat {times} times since boot", times=times),
        evidence=seen(say("the kernel counts {times}", times=times), SEE),
        why=say("a hot processor feeds the cards more slowly, and unevenly"),
        fix=(
            step(
                say("clean filters and coolers, check the fans and that the cooler sits tight"), disturbs=True
            ),
            step(say("look at temperatures under load"), "sensors"),
        ),
    )
