"""Whether the driver's library, its loaded kernel module and the module on disk are of one version.

An update of the driver replaces the library and the module on disk; the module in the kernel stays until
the machine starts anew. The library then refuses to work ("Driver/library version mismatch", NVML code
18), for every program at once. Where only the module on disk is newer, all works until the next boot, and
then changes without anybody having asked for it.

Library unlike loaded module: fault. Module on disk unlike the loaded one: note; where the library on disk
is newer too, that fault is coming: warning. Source: NVML documentation,
NVML_ERROR_LIB_RM_VERSION_MISMATCH.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import reboot
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, as_root, step
from rigright.doctor.stack import has_nvidia, is_contained, numbers, refuses_mismatch
from rigright.machine.nvml.codes import as_sentence
from rigright.machine.system import Software

TITLE = say("the driver's parts are of one version")
_MODULE = "cat /proc/driver/nvidia/version"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the driver."""
    software = case.machine.software
    loaded = software.kernel_driver
    if not has_nvidia(case) or case.machine.system.virtual == "wsl2":
        return
    others = [one for one in _libraries(software) if numbers(one) != numbers(loaded)]
    if loaded is None:
        works = any(one.vendor == "nvidia" and one.state == "ok" for one in case.machine.devices)
        unread = say("the kernel does not tell which driver it has loaded")
        yield NotSeen(why=unread if works else say("no driver is loaded"), see=_MODULE)
    elif refuses_mismatch(software) or (others and len(others) == len(_libraries(software))):
        yield _mismatch(case, others)
    elif software.disk_driver and numbers(software.disk_driver) != numbers(loaded):
        yield Finding(
            severity="note",
            title=say(
                "the next boot changes the driver from {loaded} to {other}",
                loaded=loaded,
                other=software.disk_driver,
            ),
            evidence=(
                Evidence(shows=say("loaded module: {version}", version=loaded), command=_MODULE),
                Evidence(
                    shows=say("module on disk: {version}", version=software.disk_driver),
                    command="modinfo -F version nvidia",
                ),
            ),
            why=say("a restart, planned or not, then changes what was tested"),
            fix=(reboot(),),
            verify="modinfo -F version nvidia",
        )
    elif not _libraries(software):
        yield NotSeen(why=say("no library of the driver was found"), see="ldconfig -p | grep libnvidia-ml")
    else:
        yield Fine(says=say("module and library are {version}", version=loaded))


def _libraries(software: Software) -> tuple[str, ...]:
    return software.library_drivers or ((software.driver,) if software.driver else ())


def _mismatch(case: Case, others: list[str]) -> Finding:
    software = case.machine.software
    shown = ", ".join(others) or software.driver or "?"
    error = software.driver_error
    said = Evidence(shows=as_sentence(error), command="nvidia-smi") if error else None
    fix = (
        as_root(
            say("start the machine anew: the new module is then loaded"), "systemctl reboot", disturbs=True
        ),
        as_root(
            say("or, with every program that uses a card ended, load the module anew"),
            "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia",
            disturbs=True,
        ),
    )
    inside = (
        step(
            say("start the container anew: its libraries are those of the host's driver when it started"),
            disturbs=True,
        ),
    )
    return Finding(
        severity="fault",
        title=say(
            "the driver's library ({library}) and its kernel module ({module}) differ",
            library=shown,
            module=software.kernel_driver,
        ),
        evidence=(
            Evidence(shows=say("loaded module: {version}", version=software.kernel_driver), command=_MODULE),
            Evidence(
                shows=say("library on disk: {versions}", versions=shown),
                command="ldconfig -p | grep libnvidia-ml",
            ),
            *((said,) if said else ()),
        ),
        why=say("no new program can use a card until both are of one version"),
        fix=inside + fix if is_contained(case) else fix,
        verify="nvidia-smi",
    )
