"""The NVIDIA driver: supports every GPU, versions match, files complete, still maintained."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import CheckInput, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import (
    capabilities,
    capabilities_on_bus,
    cards_on_bus,
    driver,
    has_nvidia,
    is_contained,
    module,
    numbers,
    refuses_mismatch,
    today,
)
from rigright.facts.drivers import OPEN_FROM, OPEN_ONLY_FROM, branch_of, last_branch, newest_branch
from rigright.facts.software import driver_of_chip, written
from rigright.machine.nvml.codes import as_sentence

KINDS = {
    "long term": say("long-term"),
    "production": say("production"),
    "new feature": say("new-feature"),
    "legacy": say("legacy"),
}
CARD = re.compile(r"nvidia\d+")


@check(say("driver supports every GPU"))
def driver_chip(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver supports every GPU: new enough for the newest, not too new for the oldest.

    Each chip has a first driver that supports it, and old ones a last branch: 580 is the last for Maxwell,
    Pascal and Volta.

    Too old or too new: fault. Sources: data/cuda.csv (the first CUDA, and its driver, that knew a chip),
    data/driver_branches.csv, each row with its own.
    """
    text = driver(case)
    have = numbers(text)
    if have is None or case.machine.system.virtual == "wsl2":
        return
    branch = branch_of(written(have))
    for capability, chip in capabilities(case).items():
        first = driver_of_chip(capability)
        if first is not None and have < first and have[0] < first[0]:
            yield advise("driver.too_old", about=chip, driver=text, chip=chip, first=written(first))
        elif branch is not None and capability < branch.cc_min:
            last = last_branch(capability)
            known = last.branch if last else "?"
            yield advise("driver.too_new", about=chip, driver=text, chip=chip, last=known)
        else:
            yield Fine(says=say("supported by {driver}", driver=text), about=chip)


@check(say("driver branch is maintained"))
def driver_ended(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver branch is still maintained.

    NVIDIA maintains a long-term branch for three years, a production branch for one, a new-feature branch
    until the next. After that, security holes stay open, some of which let one user's program read another's
    memory.

    End of life: note; nothing is broken. Source: data/driver_branches.csv.
    """
    have = numbers(driver(case))
    branch = branch_of(written(have)) if have else None
    if have is None or branch is None or branch.branch != have[0] or case.machine.system.virtual == "wsl2":
        return
    if branch.has_ended(today(case)):
        oldest = min(capabilities(case), default=None)
        better = newest_branch(oldest, today=today(case)) if oldest else None
        yield advise(
            "driver.ended" if branch.ends is None else "driver.ended_since",
            driver=driver(case),
            branch=branch.branch,
            kind=KINDS.get(branch.kind, branch.kind),
            source=branch.source,
            month=branch.ends,
            better=better.branch if better else None,
        )
    else:
        until = branch.ends or say("unknown date")
        yield Fine(says=say("branch {branch} is supported until {day}", branch=branch.branch, day=until))


@check(say("NVIDIA device files"))
def driver_files(case: CheckInput) -> Iterator[Verdict]:
    """Whether the NVIDIA device files exist in /dev.

    CUDA opens /dev/nvidiactl, /dev/nvidia-uvm and one file per GPU. udev rules or the driver's setuid helper
    create them; a container sees only those it was started with.

    nvidia-uvm missing while a GPU's file exists: warning, CUDA programs fail with "unknown error" (999).
    Fewer GPU files than GPUs: warning. Source: NVIDIA CUDA installation guide, device node verification.
    """
    files = case.machine.software.device_files
    cards = [device for device in case.machine.devices if device.vendor == "nvidia" and device.state == "ok"]
    if not files or not cards or case.machine.system.virtual == "wsl2":
        return
    shown = [name for name in files if CARD.fullmatch(name)]
    inside = is_contained(case)
    if len(shown) < len(cards):
        yield advise("driver.few_files", files=len(shown), cards=len(cards), inside=inside)
    elif "nvidia-uvm" not in files:
        yield advise("driver.no_uvm", inside=inside)
    else:
        yield Fine(says=say("{count} GPUs and nvidia-uvm", count=len(shown)))


@check(say("NVIDIA driver is loaded"))
def driver_loaded(case: CheckInput) -> Iterator[Verdict]:
    """Whether the NVIDIA driver is installed and loaded, where the PCI bus cannot be read.

    `NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver` and `Found no NVIDIA
    driver` mean that no module is loaded: not built for this kernel, blocked, or never installed. They say
    nothing about CUDA versions. pcie_driver covers GPUs that are on the bus without a driver.

    Library installed, module not loaded: warning. Source: NVML return codes 9 (driver not loaded) and 12
    (library not found).
    """
    software, system = case.machine.software, case.machine.system
    # the driver works, though the kernel does not say so
    answers = any(device.vendor == "nvidia" for device in case.machine.devices)
    works = answers or software.driver is not None or module(case, "nvidia") is not None
    if software.kernel_driver is not None:
        yield Fine(says=say("{text}", text=software.kernel_driver))
    elif works or cards_on_bus(case) or system.virtual == "wsl2" or is_contained(case):
        return
    elif software.library_drivers or software.disk_driver:
        version = software.disk_driver or ", ".join(software.library_drivers)
        yield advise("driver.not_loaded", version=version, said=as_sentence(software.driver_error or ""))


@check(say("driver library and kernel module versions match"))
def driver_mismatch(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver's library, loaded kernel module and module on disk have the same version.

    A driver update replaces the library and the module on disk; the loaded module stays until a reboot. From
    then on every new program fails with "Driver/library version mismatch" (NVML code 18). If only the module
    on disk is newer, everything works until the next reboot, which then changes the driver.

    Library unlike the loaded module: fault. Module on disk unlike the loaded one: note; warning where the
    library on disk is newer too, because that fault is coming. Source: NVML documentation,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH.
    """
    software = case.machine.software
    loaded, on_disk = software.kernel_driver, software.disk_driver
    if not has_nvidia(case) or case.machine.system.virtual == "wsl2":
        return
    libraries = software.library_drivers or ((software.driver,) if software.driver else ())
    others = [library for library in libraries if numbers(library) != numbers(loaded)]
    if loaded is None:
        works = any(device.vendor == "nvidia" and device.state == "ok" for device in case.machine.devices)
        unread = say("loaded driver version not reported by the kernel")
        show = "cat /proc/driver/nvidia/version"
        yield NotSeen(why=unread if works else say("no driver loaded"), see=show)
    elif refuses_mismatch(software) or (others and len(others) == len(libraries)):
        yield advise(
            "driver.mismatch",
            loaded=loaded,
            library=", ".join(others) or software.driver or "?",
            said=as_sentence(software.driver_error) if software.driver_error else None,
            inside=is_contained(case),
        )
    elif on_disk and numbers(on_disk) != numbers(loaded):
        yield advise("driver.next_boot", loaded=loaded, other=on_disk)
    elif not libraries:
        yield NotSeen(why=say("no driver library found"), see="ldconfig -p | grep libnvidia-ml")
    else:
        yield Fine(says=say("both are {version}", version=loaded))


@check(say("kernel module flavor (open or proprietary)"))
def driver_open(case: CheckInput) -> Iterator[Verdict]:
    """Whether the kernel module flavor fits the GPUs: open or proprietary.

    NVIDIA ships two flavors. Blackwell and Grace need the open modules; Maxwell, Pascal and Volta the
    proprietary ones; Turing to Hopper run on both. With the wrong flavor the driver loads and finds no GPU.

    Wrong flavor: fault. Source: NVIDIA driver installation guide, kernel modules.
    """
    nvidia = module(case, "nvidia")
    is_open = case.machine.software.open_kernel
    if is_open is None:
        is_open = nvidia.open_source if nvidia else None
    if is_open is None or case.machine.system.virtual == "wsl2":
        return
    for capability, chip in {**capabilities_on_bus(case), **capabilities(case)}.items():
        if not is_open and capability >= OPEN_ONLY_FROM:
            yield advise("driver.needs_open", about=chip, chip=chip)
        elif is_open and capability < OPEN_FROM:
            yield advise("driver.needs_closed", about=chip, chip=chip)
        else:
            yield Fine(says=say("open") if is_open else say("proprietary"), about=chip)
