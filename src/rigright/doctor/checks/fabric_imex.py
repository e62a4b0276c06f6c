"""Whether IMEX runs on a machine of an NVLink rack (GB200, GB300 NVL72).

Cards of several machines of a rack share memory over NVLink only where nvidia-imex runs on each of them,
with the addresses of all in its list. Without it NCCL goes over InfiniBand between the machines, many times
slower, or fails; one machine alone needs none.

Installed and not running, or not installed: warning. Source: NVIDIA IMEX service guide for NVLink networks.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import RACK_CHIPS, answering
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen
from rigright.doctor.stack import is_contained, service
from rigright.facts.fabrics import fabric_of

TITLE = say("IMEX runs on a machine of an NVLink rack")
_NAME = "nvidia-imex"
_SHOW = f"systemctl status {_NAME}; nvidia-imex-ctl -N"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine of a rack."""
    racked = any(
        chip is not None and fabric_of(chip).kind == "switch" and fabric_of(chip).domain > 2 * RACK_CHIPS
        for _, chip in answering(case, vendor="nvidia")
    )
    if not racked or is_contained(case):
        return
    state = service(case, _NAME)
    if state == "active":
        yield Fine(says=say("it runs"))
    elif not case.machine.system.services:
        yield NotSeen(why=say("no systemd answers here, so services cannot be seen"), see=_SHOW)
    else:
        title = (
            say("IMEX is not installed") if state is None else say("IMEX does not run: {state}", state=state)
        )
        yield Finding(
            severity="warning",
            title=title,
            evidence=seen(title, _SHOW),
            why=say("cards of other machines of the rack are not reached over NVLink"),
            fix=(
                as_root(
                    say("list the addresses of all machines of the rack in it"),
                    "cat /etc/nvidia-imex/nodes_config.cfg",
                ),
                as_root(say("start it, now and at each boot"), f"systemctl enable --now {_NAME}"),
            ),
            verify="nvidia-imex-ctl -N",
        )
