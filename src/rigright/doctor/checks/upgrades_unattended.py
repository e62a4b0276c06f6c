"""Whether the system may change the driver by itself, at night, under running programs.

unattended-upgrades installs security updates, NVIDIA's driver among them. The library on disk is then
newer than the module in the kernel: from that moment no new program can use a card until a restart (see
driver_mismatch). It is the most common cause of cards that "stopped working by themselves".

Runs, and the driver's packages are neither held nor kept out: note. Source: Ubuntu automatic updates
guide; NVIDIA driver installation guide, version locking.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen
from rigright.doctor.stack import installed, service

TITLE = say("the driver is not changed at night")
_DRIVER = r"nvidia-driver-\d+.*|libnvidia-compute-\d+.*|nvidia-dkms-\d+.*|cuda-drivers.*|nvidia-open.*"
_SHOW = "systemctl is-active unattended-upgrades; apt-mark showhold"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict where such upgrades run."""
    packages = installed(case, _DRIVER)
    if service(case, "unattended-upgrades") != "active" or not packages:
        return
    loose = [one.name for one in packages if one.state != "held"]
    if not loose:
        yield Fine(says=say("the driver's packages are held"))
        return
    yield Finding(
        severity="note",
        title=say("the system may replace the driver by itself while programs run"),
        evidence=seen(
            say("unattended-upgrades is active; not held: {packages}", packages=", ".join(loose[:5])), _SHOW
        ),
        why=say("after such an update no new program can use a card until the next restart"),
        fix=(
            as_root(
                say("hold the driver, and change it when you choose to"), f"apt-mark hold {shlex.join(loose)}"
            ),
        ),
        confidence="likely",
    )
