"""Whether the kernel swaps programs out too eagerly.

vm.swappiness weighs swapping programs out against dropping cached files. At the default 60 the kernel,
short of memory after a large model was read, may swap out the very process that feeds the cards. Servers
for deep learning keep 1 to 10. Since Linux 5.8 the scale ends at 200, not 100.

Above 60: warning; 60 on a machine with swap and cards: note; up to 20: fine. Without swap it plays no
part. Source: Linux documentation, admin-guide/sysctl/vm; the guides' item on swappiness.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen
from rigright.doctor.stack import is_contained, set_sysctl, setting, sysctl_unseen

TITLE = say("the kernel does not swap programs out eagerly")
_NAME = "vm.swappiness"
_FINE, _USUAL = 20, 60
_BETTER = "10"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine with swap and cards."""
    if not case.machine.devices or not case.machine.memory.swap_total_bytes or is_contained(case):
        return
    value = setting(case, _NAME)
    if value is None or not value.isdecimal():
        yield sysctl_unseen(_NAME)
    elif int(value) <= _FINE:
        yield Fine(says=say("{name} = {value}", name=_NAME, value=value))
    else:
        yield Finding(
            severity="warning" if int(value) > _USUAL else "note",
            title=say("{name} is {value}", name=_NAME, value=value),
            evidence=seen(say("{name} = {value}", name=_NAME, value=value), f"sysctl {_NAME}"),
            why=say(
                "short of memory, the kernel swaps out what feeds the cards before it drops cached files"
            ),
            fix=(set_sysctl(_NAME, _BETTER),),
            confidence="likely",
        )
