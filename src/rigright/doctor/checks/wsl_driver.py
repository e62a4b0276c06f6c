"""Whether WSL2 has what it needs of Windows, and nothing of Linux's driver.

In WSL2 the driver is that of Windows: its libraries lie in /usr/lib/wsl/lib and /dev/dxg leads to it. A
Linux driver installed inside hides them, and then no card is found. WSL1 has no access to cards.

Packages of a Linux driver inside: fault. No /dev/dxg: fault. WSL1: warning. Source: NVIDIA CUDA on WSL
user guide.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Severity, Step, Verdict, as_root, seen, step
from rigright.doctor.stack import installed

TITLE = say("WSL has the cards of Windows")
_DRIVERS = (
    r"nvidia-driver-.*|nvidia-driver|cuda-drivers.*|nvidia-dkms-.*|nvidia-kernel-.*|libnvidia-compute-.*"
)
_UPDATE = "wsl.exe --update"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict where this is WSL."""
    system = case.machine.system
    if system.virtual == "wsl1":
        says = say("move the distribution to WSL2, from Windows")
        yield _finding(
            "warning",
            say("this is WSL1, which has no access to cards"),
            shown=say("kernel {kernel}", kernel=system.kernel),
            mend=step(says, "wsl.exe --set-version NAME 2"),
        )
    if system.virtual != "wsl2":
        return
    inside = installed(case, _DRIVERS)
    files = case.machine.software.device_files
    if inside:
        names = shlex.join(one.name for one in inside)
        mend = as_root(say("remove it; the libraries of Windows are then found again"), f"apt purge {names}")
        yield _finding(
            "fault",
            say("a Linux driver is installed inside WSL2"),
            shown=say("{text}", text=names),
            mend=mend,
        )
    elif files is None:
        yield NotSeen(why=say("/dev cannot be read here"), see="ls /dev/dxg")
    elif "dxg" not in files:
        mend = step(say("update WSL and the driver of Windows"), _UPDATE)
        yield _finding(
            "fault",
            say("WSL2 without a way to the cards: /dev/dxg is missing"),
            shown=say("no /dev/dxg"),
            mend=mend,
        )
    else:
        yield Fine(says=say("/dev/dxg is there, and no Linux driver"))


def _finding(severity: Severity, title: Sentence, *, shown: Sentence, mend: Step) -> Finding:
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(shown, "uname -r; ls /dev/dxg; dpkg -l | grep -i nvidia"),
        why=say("no program in WSL finds a card"),
        fix=(mend,),
        verify="nvidia-smi",
    )
