"""NVSwitches and NVLink racks: Fabric Manager, IMEX, fabric state, SXids."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import RACK_CHIPS, answering
from rigright.doctor.kernel_log import events, log_evidence, quieter
from rigright.doctor.record import CheckInput, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import driver, is_contained, numbers, service
from rigright.facts.fabrics import fabric_of
from rigright.machine.device import Fabric
from rigright.machine.pci import pci_key
from rigright.machine.system import Event

IMEX, _MANAGER = "nvidia-imex", "nvidia-fabricmanager"
_SEE_IMEX = f"systemctl status {IMEX}; nvidia-imex-ctl -N"
_SEE_MANAGER = f"systemctl status {_MANAGER}; nv-fabricmanager --version"
_SEE_SXIDS = "journalctl -k --no-pager | grep -i sxid"
_SWITCH_CLASS = "0x0680"  # another bridge: NVSwitch
UNTOLD = {"", "not supported", "n/a"}
SOUND = {"success", "healthy", "none", *UNTOLD}
_STARTING_S = 300  # the manager needs some minutes after a boot
_MANY_SXIDS = 10


@check(say("IMEX on NVLink racks"))
def fabric_imex(case: CheckInput) -> Iterator[Verdict]:
    """Whether IMEX runs on a node of an NVLink rack (GB200, GB300 NVL72).

    GPUs of different nodes in a rack share memory over NVLink only if nvidia-imex runs on every node and
    lists all of their addresses. Without it NCCL falls back to InfiniBand, many times slower, or fails. A
    single node does not need it.

    Not installed or not running: warning. Source: NVIDIA IMEX service guide for NVLink networks.
    """
    racked = any(
        chip is not None and fabric_of(chip).kind == "switch" and fabric_of(chip).domain > 2 * RACK_CHIPS
        for _, chip in answering(case, vendor="nvidia")
    )
    if not racked or is_contained(case):
        return
    state = service(case, IMEX)
    if state == "active":
        yield Fine(says=say("running"))
    elif not case.machine.system.services:
        yield NotSeen(why=say("no systemd here: services not readable"), see=_SEE_IMEX)
    else:
        yield advise("fabric.imex_missing" if state is None else "fabric.imex_stopped", state=state)


@check(say("Fabric Manager runs and matches the driver"))
def fabric_service(case: CheckInput) -> Iterator[Verdict]:
    """Whether Fabric Manager runs and matches the driver version.

    On boards with NVSwitches (HGX, DGX) GPUs work together only after nvidia-fabricmanager has set up the
    switches. Its version must equal the driver's. Without it CUDA fails with "system not yet initialized"
    (802), or GPUs work only alone: nodes have run for twenty days like that and looked healthy. Racks (NVL72)
    run it on their switch trays.

    Not running on a machine that needs it: fault; another version than the driver: fault. Machines without
    switches are skipped. Source: NVIDIA fabric manager user guide.
    """
    # NVSwitches on the bus, as far as Hopper; or cards that wait for their manager
    shown = any(
        device.id.startswith("10de:") and (device.pci_class or "").startswith(_SWITCH_CLASS)
        for device in case.machine.pci or ()
    )
    waiting = any(
        device.fabric is not None and device.fabric.state in {"not started", "in progress"}
        for device, chip in case.pairs
        if chip is None or fabric_of(chip).domain <= RACK_CHIPS  # a rack keeps it on its switch trays
    )
    if not (shown or waiting) or is_contained(case) or case.machine.system.is_virtual:
        return
    state, version, have = service(case, _MANAGER), case.machine.software.fabric_manager, driver(case)
    if version and have and numbers(version) != numbers(have):
        yield advise("fabric.manager_differs", version=version, driver=have)
    elif state == "active":
        yield Fine(says=say("running"))
    elif state is None and not case.machine.system.services:
        yield NotSeen(why=say("no systemd here: services not readable"), see=_SEE_MANAGER)
    else:
        yield advise("fabric.manager_missing" if state is None else "fabric.manager_stopped", state=state)


@check(say("NVLink fabric state"))
def fabric_state(case: CheckInput) -> Iterator[Verdict]:
    """NVLink fabric state of each GPU, and the health of the fabric.

    Since Hopper, a GPU on a board with NVSwitches joins the fabric once Fabric Manager has set it up; until
    then CUDA fails with error 802, "system not yet initialized". The states: not started, still joining after
    minutes, failed to join, joined an unhealthy fabric, joined with degraded bandwidth. A single GPU, as in a
    VM, is skipped; so are GPUs before Hopper, which do not report it. Racks (NVL72) run Fabric Manager on
    their switch trays.

    Completed with success: fine. Not joined, or unhealthy: fault. Degraded bandwidth, route recovery:
    warning. Sources: NVML's fabric states and health masks; NVSentinel's report of a manager dead for twenty
    days with healthy-looking cards.
    """
    pairs = answering(case, vendor="nvidia")
    for device, chip in pairs:
        fabric = device.fabric
        if chip is None or fabric is None or fabric_of(chip).kind != "switch":
            continue
        is_rack = fabric_of(chip).domain > RACK_CHIPS
        state = (fabric.state or "").lower().replace("_", " ")
        is_starting = state == "in progress" and (case.machine.system.up_s or _STARTING_S) < _STARTING_S
        if state in UNTOLD or is_starting or (len(pairs) < 2 and not is_rack):
            continue
        name = _wrong(fabric, state)
        if name is None:
            yield Fine(says=say("joined"), about=label(device))
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
    status, health = ((text or "").lower() for text in (fabric.status, fabric.health))
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


@check(say("NVSwitch errors (SXid)"))
def sxid_events(case: CheckInput) -> Iterator[Verdict]:
    """NVSwitch errors in the kernel log (SXid).

    The line itself says whether an error is fatal. A fatal one takes down links or the whole switch:
    multi-GPU programs fail until the switch and its GPUs are reset (fault). A single non-fatal one is a note;
    ten or more mean a degrading link (warning).

    Source: NVIDIA's Fabric Manager user guide, appendix on NVSwitch errors.
    """
    groups: dict[tuple[str, int | None, bool], list[Event]] = {}
    for event in events(case, "sxid") or []:
        fatal = "non-fatal" not in event.text.lower() and "fatal" in event.text.lower()
        groups.setdefault((pci_key(event.pci), event.code, fatal), []).append(event)
    for (_, code, fatal), same in groups.items():
        last = same[-1]
        severity: Severity = "fault" if fatal else "warning" if len(same) >= _MANY_SXIDS else "note"
        yield advise(
            "fabric.sxid_fatal" if fatal else "fabric.sxid",
            about=last.pci,
            severity=quieter(severity, case=case, event=last),
            code=code or "?",
            told=log_evidence(same, _SEE_SXIDS),
        )
