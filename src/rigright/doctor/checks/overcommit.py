"""Whether the kernel refuses memory that programs only reserve.

CUDA reserves address space many times the memory of card and machine, and forking a large process counts
its memory twice for a moment. With vm.overcommit_memory = 2 the kernel refuses both: CUDA fails to start
with out of memory while most of it is free, and DataLoader workers cannot fork.

2: warning on a machine with cards. 0 (heuristic) and 1 (always): fine. Source: Linux documentation,
admin-guide/sysctl/vm and mm/overcommit-accounting.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen
from rigright.doctor.stack import set_sysctl, setting, sysctl_unseen

TITLE = say("programs may reserve more memory than they use")
_NAME = "vm.overcommit_memory"
_STRICT = "2"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine with cards."""
    if not case.machine.devices:
        return
    value = setting(case, _NAME)
    if value is None:
        if case.machine.system.os_id is not None:
            yield sysctl_unseen(_NAME)
    elif value != _STRICT:
        yield Fine(says=say("{name} = {value}", name=_NAME, value=value))
    else:
        ratio = setting(case, "vm.overcommit_ratio") or "?"
        yield Finding(
            severity="warning",
            title=say("the kernel refuses memory that programs only reserve"),
            evidence=seen(
                say("{name} = 2, at most {ratio} % of main memory and swap", name=_NAME, ratio=ratio),
                "sysctl vm.overcommit_memory vm.overcommit_ratio; grep Commit /proc/meminfo",
            ),
            why=say(
                "CUDA reserves far more addresses than memory; it and forked workers fail with memory free"
            ),
            fix=(set_sysctl(_NAME, "0"),),
            verify=f"sysctl {_NAME}",
        )
