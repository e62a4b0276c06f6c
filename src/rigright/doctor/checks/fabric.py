"""NVLink switches and racks: who sets them up, how cards stand to them, what the switches report."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import RACK_CHIPS, answering
from rigright.doctor.happened import events, quieter
from rigright.doctor.log_lines import told
from rigright.doctor.record import Case, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import driver, is_contained, numbers, service
from rigright.facts.fabrics import fabric_of
from rigright.machine.device import Fabric
from rigright.machine.pci.link import pci_key
from rigright.machine.system import Event

IMEX, MANAGER = "nvidia-imex", "nvidia-fabricmanager"
SEE_IMEX = f"systemctl status {IMEX}; nvidia-imex-ctl -N"
SEE_MANAGER = f"systemctl status {MANAGER}; nv-fabricmanager --version"
SEE_SXIDS = "journalctl -k --no-pager | grep -i sxid"
SWITCH_CLASS = "0x0680"  # another bridge: NVSwitch
UNTOLD = {"", "not supported", "n/a"}
SOUND = {"success", "healthy", "none", *UNTOLD}
STARTING_S = 300  # the manager needs some minutes after a boot
MANY_SXIDS = 10


@check(say("IMEX runs on a machine of an NVLink rack"))
def fabric_imex(case: Case) -> Iterator[Verdict]:
    """Whether IMEX runs on a machine of an NVLink rack (GB200, GB300 NVL72).

    Cards of several machines of a rack share memory over NVLink only where nvidia-imex runs on each of them,
    with the addresses of all in its list. Without it NCCL goes over InfiniBand between the machines, many
    times slower, or fails; one machine alone needs none.

    Installed and not running, or not installed: warning. Source: NVIDIA IMEX service guide for NVLink
    networks.
    """
    racked = any(
        chip is not None and fabric_of(chip).kind == "switch" and fabric_of(chip).domain > 2 * RACK_CHIPS
        for _, chip in answering(case, vendor="nvidia")
    )
    if not racked or is_contained(case):
        return
    state = service(case, IMEX)
    if state == "active":
        yield Fine(says=say("it runs"))
    elif not case.machine.system.services:
        yield NotSeen(why=say("no systemd answers here, so services cannot be seen"), see=SEE_IMEX)
    else:
        yield advise("fabric.imex_missing" if state is None else "fabric.imex_stopped", state=state)


@check(say("the switches' manager runs, in the driver's version"))
def fabric_service(case: Case) -> Iterator[Verdict]:
    """Whether the manager of the NVSwitches runs, and is of the driver's version.

    On boards with NVSwitch chips (HGX, DGX) cards compute together only after nvidia-fabricmanager has set
    the switches up. It must be of exactly the driver's version. Without it CUDA says "system not yet
    initialized" (802), on every card, or cards work alone: machines ran twenty days like that and looked
    healthy. racks (NVL72) keep it on their switch trays.

    Not running on a machine that needs it: fault; another version than the driver: fault. Machines without
    switches are not asked. Source: NVIDIA fabric manager user guide.
    """
    # NVSwitches on the bus, as far as Hopper; or cards that wait for their manager
    shown = any(
        one.id.startswith("10de:") and (one.pci_class or "").startswith(SWITCH_CLASS)
        for one in case.machine.pci or ()
    )
    waiting = any(
        one.fabric is not None and one.fabric.state in {"not started", "in progress"}
        for one, chip in case.pairs
        if chip is None or fabric_of(chip).domain <= RACK_CHIPS  # a rack keeps it on its switch trays
    )
    if not (shown or waiting) or is_contained(case) or case.machine.system.is_virtual:
        return
    state, version, have = service(case, MANAGER), case.machine.software.fabric_manager, driver(case)
    if version and have and numbers(version) != numbers(have):
        yield advise("fabric.manager_differs", version=version, driver=have)
    elif state == "active":
        yield Fine(says=say("it runs"))
    elif state is None and not case.machine.system.services:
        yield NotSeen(why=say("no systemd answers here, so services cannot be seen"), see=SEE_MANAGER)
    else:
        yield advise("fabric.manager_missing" if state is None else "fabric.manager_stopped", state=state)


@check(say("cards have joined the NVLink fabric"))
def fabric_state(case: Case) -> Iterator[Verdict]:
    """How a card stands to the manager of the NVLink switches, and how the fabric itself stands.

    Since Hopper a card on a board with switches joins the fabric when the fabric manager has set it up; CUDA
    does not start on it before (error 802, "system not yet initialized"). Each state is named for what it
    is: a card that has not begun to join, one that is still joining after minutes, one whose joining ended
    in an error, one that has joined a fabric which is unhealthy, and one that has joined with less than its
    full bandwidth. A card that stands alone, as in a virtual machine with one card, is not asked; nor are
    cards before Hopper, which do not tell it. Racks (NVL72) keep the manager on their switch trays.

    Completed with success: fine. Not joined, or unhealthy: fault. Less bandwidth, routes being set anew:
    warning. Sources: NVML's fabric states and health masks; NVSentinel's report of a manager dead for twenty
    days with healthy-looking cards.
    """
    found = answering(case, vendor="nvidia")
    for device, chip in found:
        fabric = device.fabric
        if chip is None or fabric is None or fabric_of(chip).kind != "switch":
            continue
        is_rack = fabric_of(chip).domain > RACK_CHIPS
        state = (fabric.state or "").lower().replace("_", " ")
        is_starting = state == "in progress" and (case.machine.system.up_s or STARTING_S) < STARTING_S
        if state in UNTOLD or is_starting or (len(found) < 2 and not is_rack):
            continue
        name = _wrong(fabric, state)
        if name is None:
            yield Fine(says=say("it has"), about=label(device))
        else:
            yield advise(
                name,
                device=device,
                state=fabric.state or "?",
                status=fabric.status or "?",
                health=fabric.health or "?",
                rack=is_rack,
                to_start=not is_rack and state != "completed",
            )


def _wrong(fabric: Fabric, state: str) -> str | None:
    """What is wrong with the fabric as one card sees it, by its name."""
    status, health = ((said or "").lower() for said in (fabric.status, fabric.health))
    return first(
        {
            "fabric.joining": state == "in progress",
            "fabric.absent": state != "completed",
            "fabric.failed": status not in SOUND,
            "fabric.unhealthy": health == "unhealthy"
            or fabric.route_broken is True
            or fabric.timed_out is True,
            "fabric.rerouted": fabric.recovering is True,
            "fabric.degraded": (fabric.bandwidth or "").lower() == "degraded" or health not in SOUND,
        }
    )


@check(say("errors that NVSwitch chips reported (SXid)"))
def sxid_events(case: Case) -> Iterator[Verdict]:
    """What NVSwitch chips reported in the kernel log (SXid).

    The line itself says whether an error is fatal. A fatal one takes links or the whole switch down:
    programs that use several cards fail until the switch and its cards are reset (fault). One that is not
    fatal is worth a look (note), many of them mean a link that wears (warning from 10 on).

    Source: NVIDIA's Fabric Manager user guide, appendix on NVSwitch errors.
    """
    groups: dict[tuple[str, int | None, bool], list[Event]] = {}
    for event in events(case, "sxid") or []:
        fatal = "non-fatal" not in event.text.lower() and "fatal" in event.text.lower()
        groups.setdefault((pci_key(event.pci), event.code, fatal), []).append(event)
    for (_, code, fatal), same in groups.items():
        last = same[-1]
        severity: Severity = "fault" if fatal else "warning" if len(same) >= MANY_SXIDS else "note"
        yield advise(
            "fabric.sxid_fatal" if fatal else "fabric.sxid",
            about=last.pci,
            severity=quieter(severity, case=case, event=last),
            code=code or "?",
            told=told(same, SEE_SXIDS),
        )
