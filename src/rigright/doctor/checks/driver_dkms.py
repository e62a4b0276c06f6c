"""Whether the driver's module is built for the kernel that runs and for the newest one installed.

DKMS builds the module for each kernel, when headers are there. A kernel that came with an update and has
no module starts without any card at the next boot.

No module for the running kernel: fault where none is loaded either. None for the newest installed kernel,
which the next boot takes: warning. Only looked at where DKMS manages the driver. Source: dkms(8).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, as_root

TITLE = say("the driver is built for each kernel")
_DONE = "installed"
_STATUS = "dkms status"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a kernel that matters."""
    system, software = case.machine.system, case.machine.software
    told = [(name, state) for name, state in software.dkms if name.startswith("nvidia")]
    if not told or system.kernel is None:
        return
    built = {name.partition(" ")[2] for name, state in told if state.startswith(_DONE)}
    newest = system.kernels[-1] if system.kernels else system.kernel
    if system.kernel not in built and software.kernel_driver is None:
        yield _lacking(case, system.kernel, runs=True)
    elif newest not in built:
        yield _lacking(case, newest, runs=newest == system.kernel)
    else:
        yield Fine(says=say("built for {kernels}", kernels=", ".join(sorted(built))))


def _lacking(case: Case, kernel: str, *, runs: bool) -> Finding:
    system = case.machine.system
    headers = (
        "kernel-devel-"
        if system.os_id in {"rhel", "rocky", "almalinux", "fedora", "centos", "ol"}
        else "linux-headers-"
    )
    install = "dnf" if headers.startswith("kernel") else "apt"
    listed = ", ".join(f"{name}: {state}" for name, state in case.machine.software.dkms)
    return Finding(
        severity="fault" if runs and case.machine.software.kernel_driver is None else "warning",
        title=say("the driver is not built for kernel {kernel}", kernel=kernel),
        evidence=(
            Evidence(shows=listed, command=_STATUS),
            Evidence(shows=say("running kernel: {kernel}", kernel=system.kernel), command="uname -r"),
        ),
        why=say("it runs now, without the driver: no card works")
        if runs
        else say("the next boot takes it, and then no card works"),
        fix=(
            as_root(say("install its headers"), f"{install} install {shlex.quote(headers + kernel)}"),
            as_root(say("build all modules for it"), f"dkms autoinstall -k {shlex.quote(kernel)}"),
        ),
        about=kernel,
    )
