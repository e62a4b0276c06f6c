"""Whether the manager of the NVSwitches runs, and is of the driver's version.

On boards with NVSwitch chips (HGX, DGX) cards compute together only after nvidia-fabricmanager has set
the switches up. It must be of exactly the driver's version. Without it CUDA says "system not yet
initialized" (802), on every card, or cards work alone: machines ran twenty days like that and looked
healthy. racks (NVL72) keep it on their switch trays.

Not running on a machine that needs it: fault; another version than the driver: fault. Machines without
switches are not asked. Source: NVIDIA fabric manager user guide.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.gpus import RACK_CHIPS
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, as_root, seen, step
from rigright.doctor.stack import driver, is_contained, numbers, service
from rigright.facts.fabrics import fabric_of

TITLE = say("the switches' manager runs, in the driver's version")
_NAME = "nvidia-fabricmanager"
_SWITCH_CLASS = "0x0680"  # another bridge: NVSwitch
_SHOW = f"systemctl status {_NAME}; nv-fabricmanager --version"
_BAD_STATES = {"not started", "in progress"}


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for a machine with switches."""
    # NVSwitches on the bus, as far as Hopper; or cards that wait for their manager
    shown = any(
        one.id.startswith("10de:") and (one.pci_class or "").startswith(_SWITCH_CLASS)
        for one in case.machine.pci or ()
    )
    waiting = any(
        one.fabric is not None and one.fabric.state in _BAD_STATES
        for one, chip in case.pairs
        if chip is None or fabric_of(chip).domain <= RACK_CHIPS  # a rack keeps it on its switch trays
    )
    if not (shown or waiting) or is_contained(case) or case.machine.system.is_virtual:
        return
    state, version = service(case, _NAME), case.machine.software.fabric_manager
    have = driver(case)
    if version and have and numbers(version) != numbers(have):
        yield _finding(
            say("the switches' manager is {version}, the driver {driver}", version=version, driver=have),
            install=True,
        )
    elif state == "active":
        yield Fine(says=say("it runs"))
    elif state is None and not case.machine.system.services:
        yield NotSeen(why=say("no systemd answers here, so services cannot be seen"), see=_SHOW)
    elif state is None:
        yield _finding(say("the switches' manager is not installed"), install=True)
    else:
        yield _finding(say("the switches' manager does not run: {state}", state=state), install=False)


def _finding(title: Sentence, *, install: bool) -> Finding:
    return Finding(
        severity="fault",
        title=title,
        evidence=seen(title, _SHOW),
        why=say("cards do not reach each other; CUDA reports system not yet initialized (802)"),
        fix=(
            *(
                (step(say("install the version that goes with the driver"), "rigright setup --script"),)
                if install
                else ()
            ),
            as_root(say("start it, now and at each boot"), f"systemctl enable --now {_NAME}"),
            as_root(say("read what it wrote"), "tail -50 /var/log/fabricmanager.log"),
        ),
        verify="nvidia-smi -q | grep -A4 Fabric",
    )
