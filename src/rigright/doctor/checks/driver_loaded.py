"""Whether NVIDIA's driver is installed and loaded, where the bus does not tell.

`NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver` and `Found no NVIDIA
driver` mean that no module is in the kernel: not built for it, kept out, or never installed. They say
nothing about CUDA versions. Cards that the bus shows without a driver have a check of their own
(pcie_driver).

The library is there and no module is loaded: fault. Source: NVML return codes 9 (driver not loaded) and
12 (library not found).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import see_kernel_log
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step
from rigright.doctor.stack import cards_on_bus, is_contained, module
from rigright.machine.nvml.codes import as_sentence

TITLE = say("NVIDIA's driver is loaded")
_SHOW = "lsmod | grep nvidia; modinfo nvidia"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the driver."""
    software, system = case.machine.software, case.machine.system
    if software.kernel_driver is not None:
        yield Fine(says=say("{text}", text=software.kernel_driver))
    elif _is_loaded(case) or cards_on_bus(case) or system.virtual == "wsl2" or is_contained(case):
        return
    elif software.library_drivers or software.disk_driver:
        yield _not_loaded(case)


def _is_loaded(case: Case) -> bool:
    """Whether the driver works, though the kernel does not say so."""
    answers = any(one.vendor == "nvidia" for one in case.machine.devices)
    return answers or case.machine.software.driver is not None or module(case, "nvidia") is not None


def _not_loaded(case: Case) -> Finding:
    software = case.machine.software
    version = software.disk_driver or ", ".join(software.library_drivers)
    return Finding(
        severity="warning",
        title=say("NVIDIA's driver {version} is installed and not loaded", version=version),
        evidence=seen(
            as_sentence(software.driver_error or "") or say("no module nvidia in the kernel"), _SHOW
        ),
        why=say("no card can be used; the bus could not be read, so whether there is one is not known"),
        fix=(
            as_root(say("load it and read what it says"), "modprobe nvidia"),
            see_kernel_log(),
            step(say("see whether it is built for this kernel"), "dkms status"),
        ),
        verify="nvidia-smi",
        confidence="likely",
    )
