"""Whether an update waits for a restart.

New kernels and libraries count from the next start on. Until then the machine runs what was replaced, and
a driver updated meanwhile may not fit the kernel that runs.

Wanted by the system, or a newer kernel installed than the one that runs: note. Source: Debian and Ubuntu
/run/reboot-required.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import reboot
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen
from rigright.doctor.stack import is_contained

TITLE = say("no update waits for a restart")
_SHOW = "cat /run/reboot-required.pkgs; uname -r; ls /lib/modules"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    system = case.machine.system
    if (
        is_contained(case)
        or system.virtual in {"wsl1", "wsl2"}
        or system.kernel is None
        or not system.kernels
    ):
        return
    newest = system.kernels[-1]
    same_kind = newest.rpartition("-")[2] == system.kernel.rpartition("-")[2]
    newer = newest != system.kernel and same_kind and system.kernel in system.kernels
    if not system.needs_reboot and not newer:
        yield Fine(says=say("kernel {kernel} is the newest installed", kernel=system.kernel))
        return
    yield Finding(
        severity="note",
        title=say("the system waits for a restart"),
        evidence=seen(
            say("running kernel {kernel}, newest installed {newest}", kernel=system.kernel, newest=newest),
            _SHOW,
        ),
        why=say("updates are not in force yet, and the next restart, planned or not, changes the kernel"),
        fix=(reboot(),),
        confidence="sure" if system.needs_reboot else "likely",
    )
