"""Whether the system holds packages of one driver, and whole ones.

Two branches installed at once overwrite each other's libraries; the driver's .run installer over packages
does the same. Packages that were not configured to their end leave a driver without module. Configuration
of removed packages (state config-files) does no harm by itself, but an old blacklist or init file among
it may.

Two branches of driver packages, or one half-configured: warning; leftovers of another branch: note.
Source: Debian policy on package states; NVIDIA driver installation guide, switching between installation
methods.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step
from rigright.doctor.stack import numbers
from rigright.machine.system import Package

TITLE = say("one driver is installed, and whole")
_BRANCHED = re.compile(
    r"nvidia-(?:driver|dkms|headless|utils|compute-utils|kernel-common|kernel-source)-(\d{3})(?:-server)?(?:-open)?"
    r"|libnvidia-(?:compute|gl|decode|encode|cfg1|extra|fbc1)-(\d{3})(?:-server)?"
)
_BROKEN = {"half-installed", "half-configured", "unpacked", "triggers-awaited"}
_LIST = "dpkg -l | grep -iE 'nvidia|cuda-drivers'"


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each way in which they are not."""
    packages = case.machine.software.packages
    named = [one for one in packages if "nvidia" in one.name or one.name.startswith("cuda-drivers")]
    if not named:
        return
    broken: list[Finding] = []
    bad = [one for one in named if one.state in _BROKEN]
    if bad:
        broken.append(
            Finding(
                severity="warning",
                title=say("packages of the driver are not installed to their end"),
                evidence=seen(", ".join(f"{one.name}: {one.state}" for one in bad), _LIST),
                why=say("modules may be missing or not built: the driver may not start at the next boot"),
                fix=(
                    as_root(say("finish what was broken off"), "dpkg --configure -a"),
                    as_root(say("mend what depends on it"), "apt --fix-broken install"),
                ),
            )
        )
    mixed: list[Finding] = []
    installed = _branches(named, states={"installed", "held"})
    if len(installed) > 1:
        shown = ", ".join(f"{branch} ({name})" for branch, name in sorted(installed.items()))
        mixed.append(
            Finding(
                severity="warning",
                title=say("packages of several drivers are installed: {branches}", branches=shown),
                evidence=seen(shown, _LIST),
                why=say("their libraries and modules overwrite each other; which one works is chance"),
                fix=(
                    step(say("choose the branch that fits these cards"), "rigright setup"),
                    as_root(
                        say("remove the others whole"),
                        f"apt purge '*nvidia*-{min(installed)}*' && apt autoremove --purge",
                        disturbs=True,
                    ),
                ),
            )
        )
    found = [*broken, *mixed, *_left(named)]
    yield from found
    if not found:
        yield Fine(says=say("packages of one driver"))


def _branches(packages: list[Package], *, states: set[str | None]) -> dict[int, str]:
    """Branches of the driver's packages -> one package of each that really is of that branch."""
    found: dict[int, str] = {}
    for one in packages:
        match = _BRANCHED.fullmatch(one.name)
        if match is None or one.state not in states:
            continue
        branch = int(match[1] or match[2])
        version = numbers(one.version)
        if version is None or version[0] == branch:  # a transitional package bears another branch's version
            found.setdefault(branch, one.name)
    return found


def _left(packages: list[Package]) -> Iterator[Finding]:
    installed = _branches(packages, states={"installed", "held"})
    old = {
        branch: name
        for branch, name in _branches(packages, states={"config-files"}).items()
        if branch not in installed
    }
    if old and installed:
        shown = ", ".join(sorted(old.values()))
        yield Finding(
            severity="note",
            title=say(
                "files of removed drivers are left: {branches}", branches=", ".join(map(str, sorted(old)))
            ),
            evidence=seen(shown, "dpkg -l | grep '^rc' | grep -i nvidia"),
            why=say("old settings of modprobe or services may still speak"),
            fix=(as_root(say("remove them"), f"apt purge {shlex.join(sorted(old.values()))}"),),
        )
