"""How the driver and CUDA are installed: packages, kernels, signatures, and what keeps the driver out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.happened import events
from rigright.doctor.record import Case, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import (
    capabilities,
    capabilities_on_bus,
    cards_on_bus,
    driver,
    has_nvidia,
    module,
    numbers,
)
from rigright.facts.drivers import OPEN_FROM, packages_for
from rigright.facts.software import greatest_cuda, written
from rigright.machine.system import Package

DEBIAN = {"ubuntu", "debian", "linuxmint", "pop", "kali"}
FEDORA = {"rhel", "rocky", "almalinux", "fedora", "centos", "ol"}
BRANCHED = re.compile(
    r"nvidia-(?:driver|dkms|headless|utils|compute-utils|kernel-common|kernel-source)-(\d{3})(?:-server)?(?:-open)?"
    r"|libnvidia-(?:compute|gl|decode|encode|cfg1|extra|fbc1)-(\d{3})(?:-server)?"
)
BROKEN = {"half-installed", "half-configured", "unpacked", "triggers-awaited"}
REFUSED = ("rejected", "required key", "unsigned module")


@check(say("the driver is built for each kernel"))
def driver_dkms(case: Case) -> Iterator[Verdict]:
    """Whether the driver's module is built for the kernel that runs and for the newest one installed.

    DKMS builds the module for each kernel, when headers are there. A kernel that came with an update and has
    no module starts without any card at the next boot.

    No module for the running kernel: fault where none is loaded either. None for the newest installed
    kernel, which the next boot takes: warning. Only looked at where DKMS manages the driver. Source:
    dkms(8).
    """
    system, software = case.machine.system, case.machine.software
    told = [(name, state) for name, state in software.dkms if name.startswith("nvidia")]
    if not told or system.kernel is None:
        return
    built = {name.partition(" ")[2] for name, state in told if state.startswith("installed")}
    newest = system.kernels[-1] if system.kernels else system.kernel
    runs_none = system.kernel not in built and software.kernel_driver is None
    kernel = system.kernel if runs_none else newest
    if kernel in built:
        yield Fine(says=say("built for {kernels}", kernels=", ".join(sorted(built))))
        return
    yield advise(
        "driver_install.unbuilt" if kernel == system.kernel else "driver_install.unbuilt_next",
        severity="fault" if runs_none else "warning",
        about=kernel,
        kernel=kernel,
        running=system.kernel,
        listed=", ".join(f"{name}: {state}" for name, state in software.dkms),
        tool="dnf" if system.os_id in FEDORA else "apt",
        headers=f"{'kernel-devel' if system.os_id in FEDORA else 'linux-headers'}-{kernel}",
    )


@check(say("nouveau does not hold the cards"))
def driver_nouveau(case: Case) -> Iterator[Verdict]:
    """Whether nouveau, the kernel's own driver for NVIDIA cards, keeps the real one out.

    nouveau cannot compute. Where it is loaded first it holds the card and NVIDIA's module fails. It must be
    kept out by a file of modprobe.d *and* the initial file system made anew, since nouveau is loaded from
    there. A file whose quotes came from a web page (“ ”) keeps nothing out.

    Loaded while cards are here: fault. Not loaded and not kept out, with NVIDIA's driver in use: fine, its
    packages do that by themselves. Source: NVIDIA CUDA installation guide for Linux, disabling nouveau.
    """
    system = case.machine.system
    if not has_nvidia(case) or system.virtual == "wsl2":
        return
    held = [card.address for card in cards_on_bus(case) if card.driver == "nouveau"]
    if system.modules is None:
        yield NotSeen(why=say("the list of kernel modules cannot be read here"), see="lsmod | grep nouveau")
    elif module(case, "nouveau") is None and not held:
        yield Fine(says=say("nouveau is not loaded"))
    else:
        yield advise(
            "driver_install.nouveau",
            held=", ".join(held),
            kept_out="nouveau" in system.blacklisted,
            remake="update-initramfs -u" if system.os_id in DEBIAN else "dracut --force",
        )


@check(say("one driver is installed, and whole"))
def driver_packages(case: Case) -> Iterator[Verdict]:
    """Whether the system holds packages of one driver, and whole ones.

    Two branches installed at once overwrite each other's libraries; the driver's .run installer over
    packages does the same. Packages that were not configured to their end leave a driver without module.
    Configuration of removed packages (state config-files) does no harm by itself, but an old blacklist or
    init file among it may.

    Two branches of driver packages, or one half-configured: warning; leftovers of another branch: note.
    Source: Debian policy on package states; NVIDIA driver installation guide, switching between installation
    methods.
    """
    packages = case.machine.software.packages
    named = [one for one in packages if "nvidia" in one.name or one.name.startswith("cuda-drivers")]
    if not named:
        return
    bad = [one for one in named if one.state in BROKEN]
    installed = _branches(named, states={"installed", "held"})
    removed = _branches(named, states={"config-files"})
    left = {branch: name for branch, name in removed.items() if branch not in installed}
    if bad:
        listed = ", ".join(f"{one.name}: {one.state}" for one in bad)
        yield advise("driver_install.broken_off", listed=listed)
    if len(installed) > 1:
        shown = ", ".join(f"{branch} ({name})" for branch, name in sorted(installed.items()))
        yield advise("driver_install.several", branches=shown, oldest=min(installed))
    if left and installed:
        names = sorted(left.values())
        yield advise(
            "driver_install.leftovers",
            branches=", ".join(map(str, sorted(left))),
            names=", ".join(names),
            purge=f"apt purge {shlex.join(names)}",
        )
    elif not bad and len(installed) < 2:
        yield Fine(says=say("packages of one driver"))


def _branches(packages: list[Package], *, states: set[str | None]) -> dict[int, str]:
    """Branches of the driver's packages -> one package of each that really is of that branch."""
    found: dict[int, str] = {}
    for one in packages:
        match = BRANCHED.fullmatch(one.name)
        if match is None or one.state not in states:
            continue
        branch = int(match[1] or match[2])
        version = numbers(one.version)
        if version is None or version[0] == branch:  # a transitional package bears another branch's version
            found.setdefault(branch, one.name)
    return found


@check(say("Secure Boot lets the driver in"))
def driver_signing(case: Case) -> Iterator[Verdict]:
    """Whether Secure Boot lets the driver's module in.

    With Secure Boot on, the kernel loads only modules signed by a key that the firmware or the machine's
    owner trusts. A driver built on the spot (DKMS, .run) is signed by no such key until one is enrolled, and
    is refused with "Key was rejected by service". Ubuntu's linux-modules-nvidia packages are signed already.

    Fault: Secure Boot on, cards here, no module loaded, or the kernel wrote that it refused one. Note: on,
    and the loaded module bears no signature that we can see. Source: Linux kernel module signing; Ubuntu and
    NVIDIA guides on MOK.
    """
    system = case.machine.system
    if not has_nvidia(case) or system.virtual == "wsl2":
        return
    if system.secure_boot is None:
        yield NotSeen(why=say("the firmware's variables cannot be read here"), see="mokutil --sb-state")
    elif not system.secure_boot:
        yield Fine(says=say("Secure Boot is off"))
    elif module(case, "nvidia") is not None:
        yield Fine(says=say("Secure Boot is on, and the module is loaded"))
    elif system.modules is None:
        yield NotSeen(why=say("the list of kernel modules cannot be read here"), see="lsmod | grep nvidia")
    elif cards_on_bus(case):
        lines = [one.text for one in events(case, "driver") or []]
        said = [line for line in lines if any(word in line.lower() for word in REFUSED)]
        yield advise(
            "driver_install.unsigned",
            confidence="sure" if said else "likely",
            refused=said[-1] if said else None,
            signed=_signed(case),
        )


def _signed(case: Case) -> str | None:
    """Ubuntu's package of signed modules, of the kind that the oldest card here runs on."""
    system = case.machine.system
    ways = packages_for("ubuntu", system.os_version, arch=system.arch) if system.os_id == "ubuntu" else ()
    own = next((one for one in ways if one.repo is None), None)
    oldest = min({**capabilities_on_bus(case), **capabilities(case)}, default=OPEN_FROM)
    names = own.driver(is_open=oldest >= OPEN_FROM) if own else ()
    return f"linux-modules-{names[0].replace('-driver', '')}-generic" if names else None


@check(say("the driver runs what the CUDA toolkit builds"))
def cuda_toolkit(case: Case) -> Iterator[Verdict]:
    """Whether the driver can run what the CUDA toolkit on disk builds.

    A driver runs programs of its own CUDA and of older ones; since CUDA 11 also those of newer CUDA with the
    same major number, but not kernels that it must translate itself (PTX), and not every new feature. A
    toolkit of a higher major version builds programs that do not start here.

    Higher major: warning. Newer within the major: note. Many toolkits without one that is chosen: note.
    Source: NVIDIA CUDA compatibility guide; data/cuda.csv.
    """
    system, software = case.machine.system, case.machine.software
    kits = [one for one in software.toolkits if one.name == "cuda" and one.version]
    known = numbers(driver(case))
    have = numbers(software.driver_cuda) or (greatest_cuda(written(known)) if known else None)
    if not kits or have is None:
        return
    ways = packages_for(system.os_id or "", system.os_version, arch=system.arch)
    packages = ((way, way.toolkit_package(written(have[:2]))) for way in ways)
    install = next((way.install((package,)) for way, package in packages if package is not None), None)
    for kit in [one for one in kits if one.current] or kits:
        version = numbers(kit.version)
        if version is None:
            continue
        if version[:2] <= have[:2]:
            says = say("CUDA {version}, the driver speaks {have}", version=kit.version, have=written(have))
            yield Fine(says=says, about=kit.path)
            continue
        yield advise(
            "driver_install.toolkit_major" if version[0] > have[0] else "driver_install.toolkit_newer",
            about=kit.path,
            path=kit.path,
            version=kit.version,
            have=written(have),
            driver=driver(case),
            install=install,
        )
