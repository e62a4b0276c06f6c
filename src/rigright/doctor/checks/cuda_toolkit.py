"""Whether the driver can run what the CUDA toolkit on disk builds.

A driver runs programs of its own CUDA and of older ones; since CUDA 11 also those of newer CUDA with the
same major number, but not kernels that it must translate itself (PTX), and not every new feature. A
toolkit of a higher major version builds programs that do not start here.

Higher major: warning. Newer within the major: note. Many toolkits without one that is chosen: note.
Source: NVIDIA CUDA compatibility guide; data/cuda.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Step, Verdict, as_root, seen, step
from rigright.doctor.stack import driver, numbers
from rigright.facts.drivers import packages_for
from rigright.facts.software import Version, greatest_cuda, written
from rigright.machine.system import Toolkit

TITLE = say("the driver runs what the CUDA toolkit builds")
_SHOW = "nvcc --version; nvidia-smi"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each toolkit, the chosen one or all."""
    kits = [one for one in case.machine.software.toolkits if one.name == "cuda" and one.version]
    have = driver_cuda(case)
    if not kits or have is None:
        return
    chosen = [one for one in kits if one.current] or kits
    for kit in chosen:
        version = numbers(kit.version)
        if version is None:
            continue
        if version[0] > have[0]:
            yield _newer(case, kit, have=have, runs=False)
        elif version[:2] > have[:2]:
            yield _newer(case, kit, have=have, runs=True)
        else:
            yield Fine(
                says=say("CUDA {version}, the driver speaks {have}", version=kit.version, have=written(have)),
                about=kit.path,
            )


def driver_cuda(case: Case) -> Version | None:
    """The newest CUDA the driver speaks: as it says, else by the table."""
    told = numbers(case.machine.software.driver_cuda)
    have = numbers(driver(case))
    return told or (greatest_cuda(written(have)) if have else None)


def _newer(case: Case, kit: Toolkit, *, have: Version, runs: bool) -> Finding:
    return Finding(
        severity="note" if runs else "warning",
        title=say(
            "toolkit CUDA {version} is newer than the driver's CUDA {have}",
            version=kit.version,
            have=written(have),
        ),
        evidence=seen(
            say(
                "{path}: {version}; driver {driver}", path=kit.path, version=kit.version, driver=driver(case)
            ),
            _SHOW,
        ),
        why=say("programs built with it run by minor version compatibility; kernels kept as PTX do not")
        if runs
        else say("programs built with it do not start: the driver is insufficient for this CUDA"),
        fix=(
            _older(case, have),
            step(say("or a newer driver"), "rigright setup --script"),
        ),
        about=kit.path,
    )


def _older(case: Case, have: Version) -> Step:
    """A toolkit of the driver's CUDA: by the line of this system where the tables hold one."""
    system = case.machine.system
    told = say("install a toolkit that is not newer, beside this one")
    for way in packages_for(system.os_id or "", system.os_version, arch=system.arch):
        package = way.toolkit_package(written(have[:2]))
        if package is not None:
            return as_root(told, way.install((package,)))
    return step(told)
