"""Whether the machine's clock is kept right.

Logs of several machines, certificates, Slurm's munge (five minutes), object storage signatures (fifteen)
and checkpoints' names rely on it. A clock that nobody keeps drifts by seconds a day.

Not synchronised: warning on a real machine; in a container or virtual machine the host may keep it: note.
More than half a second off: warning; more than a minute: fault. Source: munge and cloud signature
documentation (recalled).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Verdict, as_root, seen
from rigright.doctor.stack import is_contained, service

TITLE = say("the clock is kept right")
_SHOW = "timedatectl; chronyc tracking"
_OFF_S, _FAR_OFF_S = 0.5, 60.0
_KEEPERS = ("chrony", "chronyd", "systemd-timesyncd", "ntp", "ntpsec")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    system = case.machine.system
    off_s = system.clock_off_s
    if system.clock_synced is None:
        yield NotSeen(why=say("nobody here knows whether the clock is kept right"), see=_SHOW)
    elif off_s is not None and off_s > _OFF_S:
        yield _finding(
            "fault" if off_s > _FAR_OFF_S else "warning",
            say("the clock may be {time} off", time=show_seconds(off_s)),
            shown=say("off by up to {time}", time=show_seconds(off_s)),
        )
    elif system.clock_synced:
        yield Fine(says=say("synchronised"))
    else:
        kept_elsewhere = is_contained(case) or system.is_virtual
        keeper = service(case, *_KEEPERS)
        shown = say("not synchronised; keeper of time: {state}", state=keeper or say("none"))
        yield _finding(
            "note" if kept_elsewhere else "warning", say("nobody keeps the clock right"), shown=shown
        )


def _finding(severity: Severity, title: Sentence, *, shown: Sentence) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(shown, _SHOW),
        why=say(
            "logs of several machines do not match; munge and signed requests are refused when it drifts"
        ),
        fix=(
            as_root(say("install a keeper of time"), "apt install chrony || dnf install chrony"),
            as_root(
                say("start it, now and at each boot"),
                "systemctl enable --now chrony || systemctl enable --now chronyd",
            ),
        ),
        confidence="likely",
    )
