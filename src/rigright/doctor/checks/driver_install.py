"""How the driver and CUDA are installed: packages, kernels, Secure Boot, nouveau."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.kernel_log import events
from rigright.doctor.record import CheckInput, Fine, NotSeen, Verdict, check
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

_DEBIAN = {"ubuntu", "debian", "linuxmint", "pop", "kali"}
_FEDORA = {"rhel", "rocky", "almalinux", "fedora", "centos", "ol"}
_BRANCHED = re.compile(
    r"nvidia-(?:driver|dkms|headless|utils|compute-utils|kernel-common|kernel-source)-(\d{3})(?:-server)?(?:-open)?"
    r"|libnvidia-(?:compute|gl|decode|encode|cfg1|extra|fbc1)-(\d{3})(?:-server)?"
)
BROKEN = {"half-installed", "half-configured", "unpacked", "triggers-awaited"}
REFUSED = ("rejected", "required key", "unsigned module")


@check(say("NVIDIA module built for every kernel"))
def driver_dkms(case: CheckInput) -> Iterator[Verdict]:
    """Whether the NVIDIA module is built for the running kernel and for the newest one installed.

    DKMS builds the module for each kernel whose headers are installed. A kernel update without a built module
    starts without any GPU at the next reboot.

    Not built for the running kernel: fault if none is loaded, else a warning. Not built for the newest
    installed kernel, which the next reboot starts: warning. Checked only where DKMS manages the driver.
    Source: dkms(8).
    """
    system, software = case.machine.system, case.machine.software
    pairs = [(name, state) for name, state in software.dkms if name.startswith("nvidia")]
    if not pairs or system.kernel is None:
        return
    built = {name.partition(" ")[2] for name, state in pairs if state.startswith("installed")}
    newest = system.kernels[-1] if system.kernels else system.kernel
    runs_none = system.kernel not in built and software.kernel_driver is None
    kernel = system.kernel if runs_none else newest
    if kernel in built:
        yield Fine(says=say("built for {kernels}", kernels=", ".join(sorted(built))))
        return
    name = "driver_install.unbuilt_next" if kernel != system.kernel else "driver_install.unbuilt_but_loaded"
    if runs_none:
        name = "driver_install.unbuilt"
    yield advise(
        name,
        about=kernel,
        kernel=kernel,
        running=system.kernel,
        listed=", ".join(f"{name}: {state}" for name, state in software.dkms),
        tool="dnf" if system.os_id in _FEDORA else "apt",
        headers=f"{'kernel-devel' if system.os_id in _FEDORA else 'linux-headers'}-{kernel}",
    )


@check(say("nouveau does not block the driver"))
def driver_nouveau(case: CheckInput) -> Iterator[Verdict]:
    """Whether nouveau, the kernel's own driver for NVIDIA GPUs, blocks the NVIDIA driver.

    nouveau has no CUDA. If it loads first, it owns the GPU and the NVIDIA module fails. It takes a blacklist
    in modprobe.d *and* a rebuilt initramfs, since nouveau loads from there. A file with typographic quotes (“
    ”) copied from a web page blacklists nothing.

    Loaded on a machine with GPUs: fault. Not loaded and not blacklisted, with the NVIDIA driver in use: fine,
    its packages take care of it. Source: NVIDIA CUDA installation guide for Linux, disabling nouveau.
    """
    system = case.machine.system
    if not (has_nvidia(case) or module(case, "nouveau")) or system.virtual == "wsl2":
        return
    texts = [card.address for card in cards_on_bus(case) if card.driver == "nouveau"]
    if system.modules is None:
        yield NotSeen(why=say("kernel module list not readable here"), see="lsmod | grep nouveau")
    elif module(case, "nouveau") is None and not texts:
        yield Fine(says=say("nouveau is not loaded"))
    else:
        yield advise(
            "driver_install.nouveau",
            held=", ".join(texts),
            kept_out="nouveau" in system.blacklisted,
            remake="update-initramfs -u" if system.os_id in _DEBIAN else "dracut --force",
        )


@check(say("driver packages are complete and of one branch"))
def driver_packages(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver packages are complete and of one branch.

    Two branches installed together overwrite each other's libraries. So does the .run installer over
    packages: never mix the two. Packages that were not fully configured leave a driver without its module.
    Leftover configuration (state config-files) is harmless, unless it holds an old blacklist or init file.

    Two branches of driver packages, or one half-configured: warning; leftovers of another branch: note.
    Source: Debian policy on package states; NVIDIA driver installation guide, switching between installation
    methods.
    """
    packages = case.machine.software.packages
    named = [
        package for package in packages if "nvidia" in package.name or package.name.startswith("cuda-drivers")
    ]
    if not named:
        return
    bad = [package for package in named if package.state in BROKEN]
    installed = _branches(named, states={"installed", "held"})
    removed = _branches(named, states={"config-files"})
    left = {branch: name for branch, name in removed.items() if branch not in installed}
    if bad:
        listed = ", ".join(f"{package.name}: {package.state}" for package in bad)
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
        yield Fine(says=say("one driver branch"))


def _branches(packages: list[Package], *, states: set[str | None]) -> dict[int, str]:
    """Branches of the driver's packages -> one package of each that really is of that branch."""
    names: dict[int, str] = {}
    for package in packages:
        match = _BRANCHED.fullmatch(package.name)
        if match is None or package.state not in states:
            continue
        branch = int(match[1] or match[2])
        version = numbers(package.version)
        if version is None or version[0] == branch:  # a transitional package bears another branch's version
            names.setdefault(branch, package.name)
    return names


@check(say("Secure Boot accepts the driver"))
def driver_signing(case: CheckInput) -> Iterator[Verdict]:
    """Whether Secure Boot accepts the driver's module.

    With Secure Boot on, the kernel loads only modules signed by a key that the firmware or the machine's
    owner trusts. A locally built driver (DKMS, .run) has no such signature until its key is enrolled, and is
    refused with "Key was rejected by service". Ubuntu's linux-modules-nvidia packages are pre-signed.

    Fault: Secure Boot on, GPUs here, no module loaded, or the kernel logged that it refused one. Note: on,
    and no signature visible on the loaded module. Source: Linux kernel module signing; Ubuntu and NVIDIA
    guides on MOK.
    """
    system = case.machine.system
    if not has_nvidia(case) or system.virtual == "wsl2":
        return
    if system.secure_boot is None:
        yield NotSeen(why=say("EFI variables not readable here"), see="mokutil --sb-state")
    elif not system.secure_boot:
        yield Fine(says=say("Secure Boot is off"))
    elif module(case, "nvidia") is not None:
        yield Fine(says=say("Secure Boot is on and the module is loaded"))
    elif system.modules is None:
        yield NotSeen(why=say("kernel module list not readable here"), see="lsmod | grep nvidia")
    elif cards_on_bus(case):
        lines = [event.text for event in events(case, "driver") or []]
        texts = [line for line in lines if any(word in line.lower() for word in REFUSED)]
        yield advise(
            "driver_install.unsigned",
            confidence="sure" if texts else "likely",
            refused=texts[-1] if texts else None,
            signed=_signed(case),
        )


def _signed(case: CheckInput) -> str | None:
    """Ubuntu's package of signed modules, of the kind that the oldest card here runs on."""
    system = case.machine.system
    ways = packages_for("ubuntu", system.os_version, arch=system.arch) if system.os_id == "ubuntu" else ()
    own = next((driver_packages for driver_packages in ways if driver_packages.repo is None), None)
    oldest = min({**capabilities_on_bus(case), **capabilities(case)}, default=OPEN_FROM)
    names = own.driver(is_open=oldest >= OPEN_FROM) if own else ()
    return f"linux-modules-{names[0].replace('-driver', '')}-generic" if names else None


@check(say("driver supports the CUDA toolkit"))
def cuda_toolkit(case: CheckInput) -> Iterator[Verdict]:
    """Whether the driver can run what the installed CUDA toolkit builds.

    A driver runs programs of its own CUDA version and older; since CUDA 11 also newer ones of the same major
    version, except kernels shipped as PTX and some new features. Programs built with a toolkit of a higher
    major version do not start.

    Higher major: warning. Newer within the major: note. Several toolkits with none selected: note. Source:
    NVIDIA CUDA compatibility guide; data/cuda.csv.
    """
    system, software = case.machine.system, case.machine.software
    kits = [toolkit for toolkit in software.toolkits if toolkit.name == "cuda" and toolkit.version]
    known = numbers(driver(case))
    have = numbers(software.driver_cuda) or (greatest_cuda(written(known)) if known else None)
    if not kits or have is None:
        return
    ways = packages_for(system.os_id or "", system.os_version, arch=system.arch)
    packages = ((way, way.toolkit_package(written(have[:2]))) for way in ways)
    install = next((way.install((package,)) for way, package in packages if package is not None), None)
    for kit in [toolkit for toolkit in kits if toolkit.current] or kits:
        version = numbers(kit.version)
        if version is None:
            continue
        if version[:2] <= have[:2]:
            says = say(
                "CUDA {version}, driver supports up to {have}", version=kit.version, have=written(have)
            )
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
