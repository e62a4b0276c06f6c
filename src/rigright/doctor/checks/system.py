"""The system: kernel options and settings, clock, limits, updates, stuck processes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.units import show_seconds
from rigright.base.words import Sentence, say
from rigright.doctor.advice import advise
from rigright.doctor.gpus import answering
from rigright.doctor.kernel_log import events, logged
from rigright.doctor.record import CheckInput, Confidence, Fine, NotSeen, Severity, Verdict, check
from rigright.doctor.stack import SHOW, installed, is_contained, service, setting, with_option, without_option

_HURTING: tuple[tuple[str, Severity, Sentence], ...] = (
    ("pci=nommconf", "warning", say("PCIe error reporting, ACS and Resizable BAR are unavailable")),
    ("pci=nomsi", "fault", say("GPU drivers cannot get the MSI interrupts they need")),
    ("pci=noaer", "note", say("PCIe errors are no longer reported")),
    (
        "pcie_aspm=force",
        "warning",
        say("ASPM is forced on links that do not support it: GPUs may fall off the bus"),
    ),
    ("maxcpus=", "note", say("some CPU cores are not used")),
    ("mem=", "note", say("some memory is not used")),
    ("nosmt", "note", say("hyper-threading is off: half of the CPU threads")),
    ("modprobe.blacklist=nvidia", "fault", say("the GPU driver is blacklisted")),
    ("module_blacklist=nvidia", "fault", say("the GPU driver is blacklisted")),
)
_OFF_S, _FAR_OFF_S = 0.5, 60.0
_KEEPERS = ("chrony", "chronyd", "systemd-timesyncd", "ntp", "ntpsec")
_FEW_FILES, _MANY_CARDS = 4096, 4
_DRIVERS = ("nv", "uvm", "amdgpu", "kfd")
_DRIVER_PACKAGES = (
    r"nvidia-driver-\d+.*|libnvidia-compute-\d+.*|nvidia-dkms-\d+.*|cuda-drivers.*|nvidia-open.*"
)


@check(say("kernel boot options"))
def kernel_options(case: CheckInput) -> Iterator[Verdict]:
    """Kernel boot options that hurt GPUs.

    `nomodeset` is a rescue for black screens that keeps display drivers from loading; it does not affect
    NVIDIA's compute driver, but keeps amdgpu and i915 out. `pci=nommconf` hides extended configuration
    space: AER, ACS and Resizable BAR are gone. `pci=noaer` silences PCIe errors; `pcie_aspm=force` puts
    links to sleep that do not support it; `mem=` and `maxcpus=` hide memory and cores.

    Fault: the option keeps a driver or its interrupts out. Warning: it makes links or error reporting
    unsafe. Note: it hides something. Source: Linux documentation, admin-guide/kernel-parameters.
    """
    cmdline = case.machine.system.cmdline
    if cmdline is None or not (case.machine.devices or case.machine.pci) or is_contained(case):
        return
    words = cmdline.split()
    vendors = {device.vendor for device in case.machine.devices}
    rows = [
        (word, severity, why) for word in words for start, severity, why in _HURTING if word.startswith(start)
    ]
    if "nomodeset" in words and "nvidia" not in vendors:
        rows.append(("nomodeset", "warning", say("amdgpu and i915 do not load with it")))
    for word, severity, why in rows:
        without = without_option(case, word)
        yield advise("system.option", about=word, severity=severity, option=word, why=why, without=without)
    if not rows:
        yield Fine(says=say("{count} options checked", count=len(words)))


@check(say("IOMMU mode for AMD GPUs"))
def amd_iommu(case: CheckInput) -> Iterator[Verdict]:
    """Whether an IOMMU translates between several AMD GPUs.

    AMD GPUs exchange over PCIe by reading each other's memory. An IOMMU that translates every address in
    between makes that slow, and on many boards hangs multi-GPU programs at their first exchange (RCCL,
    "Memory access fault by GPU node"). AMD asks for `iommu=pt` on multi-GPU machines: host devices pass
    through, and virtual machines stay isolated.

    Warning: several GPUs and a translating IOMMU on bare metal. Source: ROCm documentation, system
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
        yield NotSeen(why=say("IOMMU mode not reported"), see=SHOW)
    elif system.iommu == "on":
        passing = with_option(case, "iommu=pt")
        yield advise("system.iommu", count=len(cards), state=system.iommu, passing=passing)
    else:
        yield Fine(says=say("IOMMU: {state}", state=system.iommu))


@check(say("automatic NUMA balancing"))
def numa_balancing(case: CheckInput) -> Iterator[Verdict]:
    """Whether automatic NUMA balancing is on.

    With kernel.numa_balancing the kernel unmaps pages to see who uses them, and migrates them. For
    processes pinned next to their GPU that is pure overhead, and it disturbs memory that NICs and GPUs
    access directly. Guides for large training runs switch it off.

    Note: on, with several NUMA nodes and several GPUs. Source: AMD Instinct and NVIDIA DGX tuning
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


@check(say("open file limit (nofile)"))
def open_files(case: CheckInput) -> Iterator[Verdict]:
    """The open file limit of a process (nofile).

    DataLoader workers pass tensors to each other as open files, a server holds one connection per
    request, a sharded data set is thousands of files. At 1024, the usual limit of a shell, they die with
    "Too many open files".

    Below 4096: note with one GPU, warning with four and more. Source: PyTorch multiprocessing notes on
    file descriptors; vLLM and Ray production guides (65,536).
    """
    limit, cards = dict(case.machine.system.limits).get("nofile"), len(case.machine.devices)
    if limit is None or not cards:
        return
    if limit >= _FEW_FILES:
        yield Fine(says=say("{limit} files", limit=f"{limit:,.0f}"))
    else:
        severity: Severity = "warning" if cards >= _MANY_CARDS else "note"
        yield advise("system.open_files", severity=severity, limit=f"{limit:,.0f}")


@check(say("clock synchronisation (NTP)"))
def clock_kept(case: CheckInput) -> Iterator[Verdict]:
    """Whether the system clock is NTP-synchronised.

    Logs of several nodes, certificates, Slurm's munge (five minutes), object storage signatures
    (fifteen) and checkpoint names rely on it. An unsynchronised clock drifts by seconds a day.

    Warning: not synchronised on bare metal (note in a container or virtual machine, where the host may
    do it), or more than half a second off. Fault: more than a minute off. Source: munge and cloud
    signature documentation (recalled).
    """
    system = case.machine.system
    off_s = system.clock_off_s
    if system.clock_synced is None:
        why = say("NTP state not readable")
        yield NotSeen(why=why, see="timedatectl; chronyc tracking")
    elif off_s is not None and off_s > _OFF_S:
        severity: Severity = "fault" if off_s > _FAR_OFF_S else "warning"
        yield advise("system.clock_off", severity=severity, time=show_seconds(off_s))
    elif system.clock_synced:
        yield Fine(says=say("synchronised"))
    else:
        kept_elsewhere = is_contained(case) or system.is_virtual
        keeper = service(case, *_KEEPERS) or say("none")
        yield advise("system.clock", severity="note" if kept_elsewhere else "warning", state=keeper)


@check(say("processes stuck in D state"))
def processes_stuck(case: CheckInput) -> Iterator[Verdict]:
    """Processes stuck in D state, or reported as hung by the kernel.

    A process in D state cannot be killed. With GPU drivers and network file systems it means that the
    device or the server no longer responds; monitoring agents that query it pile up the same way.

    Warning: processes in D state at two looks, or tasks that the kernel reports as blocked for 120
    seconds. Fault: GPU driver processes. Source: Linux hung task detector; gpud's check of D states.
    """
    stuck = case.machine.system.stuck
    if stuck:
        of_driver = any(name.lower().startswith(_DRIVERS) for name in stuck)
        yield advise(
            "system.stuck",
            severity="fault" if of_driver else "warning",
            confidence="sure" if of_driver else "likely",
            names=", ".join(stuck[:5]),
            all=", ".join(stuck[:10]),
        )
    elif case.machine.system.up_s is not None and not is_contained(case):
        yield Fine(says=say("none"))
    given = events(case, "hung") or []
    if given:
        names = ", ".join(sorted({event.program for event in given if event.program})) or "?"
        yield logged(case, advise("system.hung", names=names), of=given)


@check(say("pending reboot"))
def reboot_pending(case: CheckInput) -> Iterator[Verdict]:
    """Whether an update waits for a reboot.

    New kernels and libraries take effect at the next boot. Until then the machine runs the old ones, and
    a driver updated meanwhile may not match the running kernel.

    Note: the system asks for it, or a newer kernel is installed than the running one. Source: Debian and
    Ubuntu /run/reboot-required.
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


@check(say("unattended driver upgrades"))
def upgrades_unattended(case: CheckInput) -> Iterator[Verdict]:
    """Whether the system may update the driver by itself, under running jobs.

    unattended-upgrades installs security updates, the NVIDIA driver among them. The library on disk is
    then newer than the loaded kernel module: from that moment no new program can use a GPU until a
    reboot (see driver_mismatch). It is the most common cause of GPUs that "stopped working by
    themselves".

    Note: it is active, and the driver packages are neither on hold nor excluded. Source: Ubuntu
    automatic updates guide; NVIDIA driver installation guide, version locking.
    """
    packages = installed(case, _DRIVER_PACKAGES)
    if service(case, "unattended-upgrades") != "active" or not packages:
        return
    loose = [package.name for package in packages if package.state != "held"]
    if loose:
        hold = f"apt-mark hold {shlex.join(loose)}"
        yield advise("system.upgrades", packages=", ".join(loose[:5]), hold=hold)
    else:
        yield Fine(says=say("driver packages are on hold"))
