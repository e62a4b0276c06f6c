"""Disk, memory, network and PCIe errors in the kernel log."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from rigright.base.units import GIGA
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import device_at
from rigright.doctor.kernel_log import by_place, events, is_before_boot, log_state, logged, unseen
from rigright.doctor.record import CheckInput, Fine, Severity, Verdict, check
from rigright.machine.system import Event

DISK = re.compile(
    r"\b(nvme\d+(?:n\d+)?|mmcblk\d+|(?:sd|vd|xvd)[a-z]{1,2}|ata\d+|(?:md|nbd|loop|fd|sr|dm-)\d+)(?:p?\d+)?\b"
)
_OVER = ("md", "dm-")  # made of disks
LIGHT = ("loop", "fd", "sr")  # no disks
GRAVE = (
    "i/o error",
    "medium error",
    "target error",
    "ext4-fs error",
    "corruption",
    "controller is down",
    "read-only",
    "shut",
    "btrfs",
    "crc error",
    "sct ",
    "disk failure",
)
BANK = re.compile(r"bank \d+: [2367abef][0-9a-f]{15}")  # bit 61 of the state: not corrected
_UNCORRECTED = (
    "uncorrect",
    " ue ",
    "fatal",
    "recoverable",
    "panic",
    "memory failure",
    "machine check exception",
    "machine check: processor context corrupt",
)
MODULES = (  # as firmware places it, else as the board labels it, else as EDAC counts
    re.compile(r"DIMM location: ?([^;\n]{1,40})"),
    re.compile(r"fru_text: ?([^;\n]{1,60})"),
    re.compile(r"(?:on|at|label) \"?(\S{0,40}DIMM\S{0,40})"),
)
_TOO_HOT = ("critical", "shutting down")
_MANY_CORRECTED = 10
_JOBS_LIMIT = ("memory cgroup", "constraint_memcg")  # of a control group: Slurm, a container, a service
OFTEN = 3
STARTED_S = 180  # after boot: links go down and up while drivers load
_MANY_OF_BUS = 100
_BAD_OF_BUS = ("uncorrect", "recoverable", "recover (", "recovery failed")
_FAST_BYTES_PER_S = 10 * GIGA / 8
LINK = re.compile(
    r"(mlx\d_\d+|(?:en|ib|eth|bond)[\w.]+|\S+(?=: (?:(?:NIC )?Link|Lost carrier|carrier lost)))"
)


@check(say("disk errors in the kernel log"))
def log_disks(case: CheckInput) -> Iterator[Verdict]:
    """Disk and file system errors in the kernel log.

    NVMe timeouts and resets, SATA cable errors, file systems turned read-only: data loading stalls for
    seconds, checkpoints are lost.

    I/O errors, media errors, damaged file systems, a controller that is down: fault. Resets and timeouts:
    warning. Events older than a week, or from before the last boot, count one level lower. Source:
    data/messages.csv.
    """
    if (state := log_state(case, "nvme|I/O error|ata[0-9]", "disk")) is not None:
        yield state
    pairs = [
        (event, [match[1] for match in DISK.finditer(event.text)]) for event in events(case, "disk") or []
    ]
    # an array or a mapping that is named beside a disk of its own failed because of that disk
    beneath: dict[str, str] = {}
    for _, names in pairs:
        disk = next((text for text in names if not text.startswith(_OVER)), None)
        if disk is not None:
            beneath |= {text: disk for text in names if text.startswith(_OVER)}
    groups: dict[str, list[Event]] = {}
    for event, names in pairs:
        name = next((text for text in names if not text.startswith(_OVER)), next(iter(names), "?"))
        if not name.startswith(LIGHT):
            groups.setdefault(beneath.get(name, name), []).append(event)
    for name, same in groups.items():
        grave = [item for item in same if any(word in item.text.lower() for word in GRAVE)]
        is_asked = name.startswith(("nvme", "sd"))
        ask = f"smartctl -a /dev/{name}" if is_asked else f"dmesg | grep -F {shlex.quote(name)}"
        finding = advise("logs.disk_failed" if grave else "logs.disk_reset", disk=name, ask=ask)
        yield logged(case, finding, of=grave or same)


@check(say("memory errors and OOM kills in the kernel log"))
def log_memory(case: CheckInput) -> Iterator[Verdict]:
    """Memory and CPU errors in the kernel log, and OOM kills.

    An uncorrectable memory error kills a program or the node; one that hits a checkpoint or a batch goes
    unnoticed. Recurring corrected errors announce a failing DIMM.

    Uncorrectable: fault. Corrected: warning from ten lines on, else note. OOM kills, of the system or at a
    job's own cgroup limit: warning. Events older than a week, or from before the last boot, count one level
    lower. Source: Linux RAS documentation; mm/oom_kill; Intel's and AMD's manuals on the state of machine
    check banks.
    """
    if (state := log_state(case, "Hardware Error|EDAC|Out of memory", "mce", "oom")) is not None:
        yield state
    errors, killed = events(case, "mce") or [], events(case, "oom") or []
    lines = [error.text.lower() for error in errors]
    bad = [
        event
        for event, line in zip(errors, lines, strict=True)
        if BANK.search(line) or any(word in line for word in _UNCORRECTED)
    ]
    if bad:
        finding = logged(case, advise("logs.memory_uncorrected"), of=bad)
        modules = dict.fromkeys(module for event in bad if (module := _module(event)) is not None)
        yield replace(finding, about=", ".join(modules) or finding.about)
    elif errors:
        severity: Severity = "warning" if len(errors) >= _MANY_CORRECTED else "note"
        yield logged(case, advise("logs.memory_corrected", severity=severity), of=errors)
    limited = [item for item in killed if any(word in item.text.lower() for word in _JOBS_LIMIT)]
    rest = [item for item in killed if item not in limited]
    for name, same in (("logs.killed_at_limit", limited), ("logs.killed", rest)):
        if same:
            programs = sorted({item.program for item in same if item.program})
            names: Sentence | str = ", ".join(programs) or say("a program")
            yield logged(case, advise(name, names=names), of=same)


def _module(event: Event) -> str | None:
    """The memory module that an event names."""
    for form in MODULES:
        if (match := form.search(event.text)) is not None:
            return match[1].strip(" ,;")
    return None


@check(say("overheating in the kernel log"))
def log_heat(case: CheckInput) -> Iterator[Verdict]:
    """CPUs that the kernel throttled for heat, and devices that it shut down.

    A CPU that is throttled feeds its GPUs more slowly, and the air it heats is the GPUs' own. Shutdown at a
    critical temperature loses all that runs.

    Warning: throttled; fault: a critical temperature or a shutdown. Events older than a week, or from before
    the last boot, count one level lower. Source: Linux thermal and x86 machine check drivers.
    """
    state = log_state(case, "temperature|throttled", "thermal")
    if state is not None and case.machine.devices:
        yield state
    if hot := events(case, "thermal"):
        grave = [event for event in hot if any(word in event.text.lower() for word in _TOO_HOT)]
        yield logged(case, advise("logs.heat", severity="fault" if grave else None), of=grave or hot)


@check(say("network link flaps"))
def log_links(case: CheckInput) -> Iterator[Verdict]:
    """Network link flaps.

    An InfiniBand or Ethernet link that flaps breaks every collective across it: NCCL waits, and aborts the
    job at its timeout. Usual causes: cable, transceiver, switch port.

    Three or more since boot: warning on a machine with fast ports. One or two are somebody plugging a cable.
    A text that lists no ports: warning where the last line of a link says that it went down. Source: Azure
    node health checks (link flaps in 24 hours); NCCL troubleshooting.
    """
    rates = [port.max_bytes_per_s or port.bytes_per_s or 0 for port in case.machine.ports or ()]
    of_text = case.machine.is_capture and not rates  # which ports it has is not known
    if max(rates, default=0) < _FAST_BYTES_PER_S and not of_text:
        return
    closed = unseen(case, "link is down|lost carrier|link down")
    if closed is not None:
        yield closed
        return
    groups: dict[str, list[Event]] = {}
    for event in events(case, "link", "link_up") or []:
        if not is_before_boot(case, event):
            match = LINK.search(event.text)
            groups.setdefault(match[1] if match else event.pci or "", []).append(event)
    down = {name: [item for item in same if item.kind == "link"] for name, same in groups.items()}
    often = {name: same for name, same in down.items() if len(same) >= OFTEN}
    lost = {name: down[name] for name, same in groups.items() if name not in often and _is_lost(same)}
    if not often and not of_text:
        yield Fine(says=say("no flapping link in the kernel log"))
    for name, same in often.items():
        finding = logged(case, advise("logs.link_flaps", count=len(same), name=name), of=same)
        yield replace(finding, about=name or finding.about)
    for name, same in lost.items() if of_text else ():
        finding = logged(case, advise("logs.link_lost"), of=same)
        yield replace(finding, about=name or finding.about)


def _is_lost(same: list[Event]) -> bool:
    """Whether the last that is told of a link is that it went down, and not while the machine started."""
    last = same[-1]
    return last.kind == "link" and (last.up_s is None or last.up_s > STARTED_S)


@check(say("PCIe errors in the kernel log"))
def log_bus(case: CheckInput) -> Iterator[Verdict]:
    """PCIe errors (AER) in the kernel log, and DMA that the IOMMU blocked.

    Corrected errors cost time for replays; uncorrectable ones lose data or the device. pcie_errors checks the
    counters since boot; the log also covers earlier boots.

    An IOMMU blocks unmapped DMA: without passthrough, peer-to-peer copies between GPUs are lost, and programs
    hang or get corrupt data.

    Uncorrectable: warning; fatal: fault. 100 or more corrected errors of one device: note. Blocked DMA of a
    GPU: warning. Events older than a week, or from before the last boot, count one level lower. Sources:
    Linux PCI Express AER documentation; NVIDIA's NCCL guide on peer-to-peer copies and the IOMMU.
    """
    state = log_state(case, "AER|PCIe Bus Error", "aer")
    if state is not None and case.machine.devices:
        yield state
    for same in by_place(events(case, "aer") or []).values():
        lines = [(event, event.text.lower()) for event in same]
        fatal = [
            event
            for event, line in lines
            if ("fatal" in line and "non-fatal" not in line and "nonfatal" not in line)
            or "dpc: containment" in line
        ]
        bad = [event for event, line in lines if any(word in line for word in _BAD_OF_BUS)]
        errors = [event for event in same if "severity" in event.text] or same  # two lines tell of one error
        if fatal:
            yield logged(case, advise("logs.bus_fatal"), of=fatal)
        elif bad:
            yield logged(case, advise("logs.bus_uncorrected"), of=bad)
        elif len(errors) >= _MANY_OF_BUS:
            yield logged(case, advise("logs.bus_corrected"), of=errors)
    # of cards alone: firmware of other devices sets off a few at each boot
    for pci, same in by_place(events(case, "iommu") or []).items():
        if device_at(case, pci) is not None:
            yield logged(case, advise("logs.iommu"), of=same)
