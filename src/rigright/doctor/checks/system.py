"""The system: kernel options and settings, its clock, limits, updates, processes that are stuck."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import answering
from rigright.doctor.happened import events
from rigright.doctor.kernel_line import SHOW, with_option, without_option
from rigright.doctor.log_lines import logged
from rigright.doctor.record import Case, Confidence, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import installed, is_contained, service, setting

HURTING: tuple[tuple[str, Severity, Sentence], ...] = (
    ("pci=nommconf", "warning", say("error reports, ACS and resizable BARs of the bus are out of reach")),
    ("pci=nomsi", "fault", say("cards cannot raise interrupts as their drivers need")),
    ("pci=noaer", "note", say("errors of the bus are no longer reported")),
    ("pcie_aspm=force", "warning", say("links are put to sleep that should not: cards may fall off the bus")),
    ("maxcpus=", "note", say("some cores are not used")),
    ("mem=", "note", say("some memory is not used")),
    ("nosmt", "note", say("half of the threads are switched off")),
    ("modprobe.blacklist=nvidia", "fault", say("the driver is kept out")),
    ("module_blacklist=nvidia", "fault", say("the driver is kept out")),
)
OFF_S, FAR_OFF_S = 0.5, 60.0
KEEPERS = ("chrony", "chronyd", "systemd-timesyncd", "ntp", "ntpsec")
FEW_FILES, MANY_CARDS = 4096, 4
DRIVERS = ("nv", "uvm", "amdgpu", "kfd")
DRIVER_PACKAGES = (
    r"nvidia-driver-\d+.*|libnvidia-compute-\d+.*|nvidia-dkms-\d+.*|cuda-drivers.*|nvidia-open.*"
)


@check(say("the kernel's options do no harm"))
def kernel_options(case: Case) -> Iterator[Verdict]:
    """Whether the kernel was started with options that hurt accelerators.

    `nomodeset` was a rescue for black screens and keeps drivers for screens from starting; it does no harm
    to NVIDIA's compute driver alone, but keeps amdgpu and i915 out. `pci=nommconf` hides the large
    configuration space: error reports, ACS and resizable BARs are gone. `pci=noaer` silences errors of the
    bus; `pcie_aspm=force` lets links sleep that should not; `iommu=off` on a machine that needs it; `mem=`
    and `maxcpus=` hide memory and cores.

    Fault: what keeps a driver or its interrupts out. Warning: what makes links or their errors unsafe. Note:
    what hides something. Source: Linux documentation, admin-guide/kernel-parameters.
    """
    cmdline = case.machine.system.cmdline
    if cmdline is None or not (case.machine.devices or case.machine.pci) or is_contained(case):
        return
    words = cmdline.split()
    vendors = {device.vendor for device in case.machine.devices}
    found = [
        (word, severity, why) for word in words for start, severity, why in HURTING if word.startswith(start)
    ]
    if "nomodeset" in words and "nvidia" not in vendors:
        found.append(("nomodeset", "warning", say("amdgpu and i915 do not start with it")))
    for word, severity, why in found:
        without = without_option(case, word)
        yield advise("system.option", about=word, severity=severity, option=word, why=why, without=without)
    if not found:
        yield Fine(says=say("{count} options looked at", count=len(words)))


@check(say("the IOMMU lets AMD's cards reach each other"))
def amd_iommu(case: Case) -> Iterator[Verdict]:
    """Whether an IOMMU that translates stands between several cards of AMD.

    Cards of AMD exchange over PCIe by reading each other's memory. An IOMMU that translates every address in
    between makes that slow, and on many boards makes programs on two or more cards hang at their first
    exchange (RCCL, "Memory access fault by GPU node"). AMD asks for `iommu=pt` on machines with several
    cards: devices of the machine itself then pass, and virtual machines stay separated.

    Several cards and a translating IOMMU on a machine of metal: warning. Source: ROCm documentation, system
    optimisation of Instinct accelerators and known issues of several Radeons: iommu=pt.
    """
    system = case.machine.system
    cards = [
        device
        for device, chip in answering(case, vendor="amd")
        if chip is not None and not device.unified_memory
    ]
    if len(cards) < 2 or system.is_virtual or is_contained(case):
        return
    if system.iommu is None:
        yield NotSeen(why=say("whether an IOMMU translates is not told"), see=SHOW)
    elif system.iommu == "on":
        passing = with_option(case, "iommu=pt")
        yield advise("system.iommu", count=len(cards), state=system.iommu, passing=passing)
    else:
        yield Fine(says=say("IOMMU: {state}", state=system.iommu))


@check(say("the kernel does not move memory about"))
def numa_balancing(case: Case) -> Iterator[Verdict]:
    """Whether the kernel moves memory between processors by itself while cards work.

    With kernel.numa_balancing on, the kernel takes pages away from programs for a moment to see who uses
    them, and moves them. For programs pinned to the memory next to their card that is work for nothing;
    memory that network cards and GPUs reach directly is disturbed. Guides for large training switch it off.

    On, with several memory domains and several cards: note. Source: AMD Instinct and NVIDIA DGX tuning
    guides; Linux documentation, admin-guide/sysctl/kernel.
    """
    name = "kernel.numa_balancing"
    value = setting(case, name)
    several = len(case.machine.devices) > 1 and len(case.machine.cpu.nodes) > 1
    if not several or value is None or is_contained(case):
        return
    if value == "0":
        yield Fine(says=say("{name} = {value}", name=name, value=value))
    else:
        yield advise("system.numa_balancing", value=value)


@check(say("programs may open enough files"))
def open_files(case: Case) -> Iterator[Verdict]:
    """Whether programs may open enough files.

    DataLoader workers pass tensors to each other as open files, a server holds a connection a request, a
    data set in shards is thousands of files. At 1024, the usual limit of a shell, they end in "Too many open
    files".

    Below 4096: note with one card, warning with four and more. Source: PyTorch multiprocessing notes on file
    descriptors; vLLM and Ray production guides (65,536).
    """
    limit, cards = dict(case.machine.system.limits).get("nofile"), len(case.machine.devices)
    if limit is None or not cards:
        return
    if limit >= FEW_FILES:
        yield Fine(says=say("{limit} files", limit=f"{limit:,.0f}"))
    else:
        severity: Severity = "warning" if cards >= MANY_CARDS else "note"
        yield advise("system.open_files", severity=severity, limit=f"{limit:,.0f}")


@check(say("the clock is kept right"))
def clock_kept(case: Case) -> Iterator[Verdict]:
    """Whether the machine's clock is kept right.

    Logs of several machines, certificates, Slurm's munge (five minutes), object storage signatures (fifteen)
    and checkpoints' names rely on it. A clock that nobody keeps drifts by seconds a day.

    Not synchronised: warning on a real machine; in a container or virtual machine the host may keep it:
    note. More than half a second off: warning; more than a minute: fault. Source: munge and cloud signature
    documentation (recalled).
    """
    system = case.machine.system
    off_s = system.clock_off_s
    if system.clock_synced is None:
        why = say("nobody here knows whether the clock is kept right")
        yield NotSeen(why=why, see="timedatectl; chronyc tracking")
    elif off_s is not None and off_s > OFF_S:
        severity: Severity = "fault" if off_s > FAR_OFF_S else "warning"
        yield advise("system.clock_off", severity=severity, time=show_seconds(off_s))
    elif system.clock_synced:
        yield Fine(says=say("synchronised"))
    else:
        kept_elsewhere = is_contained(case) or system.is_virtual
        keeper = service(case, *KEEPERS) or say("none")
        yield advise("system.clock", severity="note" if kept_elsewhere else "warning", state=keeper)


@check(say("no process waits without end"))
def processes_stuck(case: Case) -> Iterator[Verdict]:
    """Whether processes wait without end for a device (state D), or the kernel told of ones that did.

    A process in state D cannot be killed. With drivers of accelerators and network file systems it means
    that the device or the server no longer answers; monitors that ask it pile up the same way.

    Processes of the driver or of users in D at two looks: warning; with nvidia in their name: fault. The
    kernel's word on tasks blocked for 120 seconds: warning. Source: Linux hung task detector; gpud's check
    of D states.
    """
    stuck = case.machine.system.stuck
    if stuck:
        of_driver = any(name.lower().startswith(DRIVERS) for name in stuck)
        yield advise(
            "system.stuck",
            severity="fault" if of_driver else "warning",
            confidence="sure" if of_driver else "likely",
            names=", ".join(stuck[:5]),
            all=", ".join(stuck[:10]),
        )
    elif case.machine.system.up_s is not None and not is_contained(case):
        yield Fine(says=say("none"))
    told = events(case, "hung") or []
    if told:
        names = ", ".join(sorted({one.program for one in told if one.program})) or "?"
        yield logged(case, advise("system.hung", names=names), of=told)


@check(say("no update waits for a restart"))
def reboot_pending(case: Case) -> Iterator[Verdict]:
    """Whether an update waits for a restart.

    New kernels and libraries count from the next start on. Until then the machine runs what was replaced,
    and a driver updated meanwhile may not fit the kernel that runs.

    Wanted by the system, or a newer kernel installed than the one that runs: note. Source: Debian and Ubuntu
    /run/reboot-required.
    """
    system = case.machine.system
    if is_contained(case) or system.virtual in {"wsl1", "wsl2"}:
        return
    if system.kernel is None or not system.kernels:
        return
    newest = system.kernels[-1]
    same_kind = newest.rpartition("-")[2] == system.kernel.rpartition("-")[2]
    newer = newest != system.kernel and same_kind and system.kernel in system.kernels
    if system.needs_reboot or newer:
        confidence: Confidence = "sure" if system.needs_reboot else "likely"
        yield advise("system.reboot_pending", confidence=confidence, kernel=system.kernel, newest=newest)
    else:
        yield Fine(says=say("kernel {kernel} is the newest installed", kernel=system.kernel))


@check(say("the driver is not changed at night"))
def upgrades_unattended(case: Case) -> Iterator[Verdict]:
    """Whether the system may change the driver by itself, at night, under running programs.

    unattended-upgrades installs security updates, NVIDIA's driver among them. The library on disk is then
    newer than the module in the kernel: from that moment no new program can use a card until a restart (see
    driver_mismatch). It is the most common cause of cards that "stopped working by themselves".

    Runs, and the driver's packages are neither held nor kept out: note. Source: Ubuntu automatic updates
    guide; NVIDIA driver installation guide, version locking.
    """
    packages = installed(case, DRIVER_PACKAGES)
    if service(case, "unattended-upgrades") != "active" or not packages:
        return
    loose = [one.name for one in packages if one.state != "held"]
    if loose:
        hold = f"apt-mark hold {shlex.join(loose)}"
        yield advise("system.upgrades", packages=", ".join(loose[:5]), hold=hold)
    else:
        yield Fine(says=say("the driver's packages are held"))
