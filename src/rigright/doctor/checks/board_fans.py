"""Fans of the case and the board.

A fan that stands still, in a server that is made to be blown through, heats the cards behind it within
minutes. On a desktop an unused plug reads nothing turning, and some fans stop when it is cool: nothing is
said there.

Fault: a fan the management controller watches is below its own critical limit; warning: below its limit.
Source: IPMI limits set by the board's maker.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.machine.host import Sensor

TITLE = say("fans of the case turn")
SEE = "sudo ipmitool sdr type Fan"
_BAD = {"critical", "beyond repair", "beyond a limit"}


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each fan that is too slow, else one for all."""
    fans = [one for one in case.machine.sensors or () if one.kind == "fan" and one.source != "hwmon"]
    slow = [one for one in fans if _is_slow(one)]
    for one in slow:
        yield _finding(one)
    if fans and not slow:
        yield Fine(says=say("all turn; fans: {count}", count=len(fans)))


def _is_slow(fan: Sensor) -> bool:
    below = fan.low is not None and fan.value is not None and fan.value < fan.low
    return below or fan.status in _BAD


def _finding(fan: Sensor) -> Finding:
    still = fan.value == 0 or fan.status in {"critical", "beyond repair"}
    title = say("{name} turns {speed} times a minute", name=fan.name, speed=f"{fan.value or 0:.0f}")
    return Finding(
        severity="fault" if still else "warning",
        title=title,
        evidence=seen(say("its limit is {limit}", limit=f"{fan.low:g}" if fan.low is not None else "?"), SEE),
        why=say("the cards behind it get hot within minutes, and slow down or switch off"),
        fix=(step(say("look for a loose plug or something in its way; replace it")),),
        about=fan.name,
    )
