"""Whether the driver can run the CUDA that each framework was built with.

A framework's wheel brings its own CUDA libraries; only the driver must be new enough: its own CUDA or a
newer one, or, since CUDA 11, any of the same major number from that number's first driver on. Too old a
driver says "The NVIDIA driver on your system is too old", and the framework falls back to the processor.
A toolkit in /usr/local/cuda plays no part. On datacentre cards NVIDIA's package cuda-compat-X-Y carries a
newer CUDA over an older driver, where its folder is on the library path.

Too old: fault. Newer within its major number: fine. Source: CUDA compatibility guide; data/cuda.csv.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Evidence, Finding, Fine, Step, Verdict, step
from rigright.doctor.stack import driver, numbers, pip, variable
from rigright.doctor.torch_fit import reinstall
from rigright.facts.software import Version, driver_for, tensorflow_releases, version_of, written
from rigright.machine.system import Framework, Python

_COMPAT = re.compile(r"/cuda(?:-(\d{1,18})(?:\.\d+)?)?/compat\b")
TITLE = say("the driver is new enough for each framework")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each framework whose CUDA is known."""
    have = numbers(driver(case))
    if have is None or case.machine.system.virtual == "wsl2":
        return
    for python in case.machine.software.pythons:
        for framework in python.frameworks:
            cuda = numbers(cuda_of(framework))
            if cuda is None:
                continue
            needs = driver_for(cuda[:2] if len(cuda) > 1 else (cuda[0], 0))
            about = f"{framework.name} {framework.version}, {python.path}"
            carried = _carried(case, cuda) if have < needs else None
            if carried is not None:
                says = say(
                    "CUDA {cuda} by the compatibility package in {folder}",
                    cuda=written(cuda[:2]),
                    folder=carried,
                )
                yield Fine(says=says, about=about)
            elif have < needs:
                yield _too_old(case, python, framework=framework, needs=written(needs))
            else:
                yield Fine(
                    says=say(
                        "CUDA {cuda} needs {needs}; here is {have}",
                        cuda=written(cuda[:2]),
                        needs=written(needs),
                        have=driver(case),
                    ),
                    about=about,
                )


def _carried(case: Case, cuda: Version) -> str | None:
    """The folder of the compatibility package that programs load, where these cards take it."""
    path = (variable(case, "LD_LIBRARY_PATH") or "").split(":")
    for folder in path if _takes_package(case) else ():
        found = _COMPAT.search(folder)
        if found and (found[1] is None or int(found[1]) == cuda[0]):
            return folder
    return None


def _takes_package(case: Case) -> bool:
    """Whether all cards of NVIDIA's are datacentre ones, for which alone the package is."""
    segments = {chip.segment if chip else None for device, chip in case.pairs if device.vendor == "nvidia"}
    return segments == {"datacenter"}


def cuda_of(framework: Framework) -> str | None:
    """The CUDA it was built with: as it says, else by the table of releases."""
    if framework.cuda or framework.name != "tensorflow" or framework.version is None:
        return framework.cuda
    wanted = framework.version.split(".")[:2]
    rows = {tuple(row.tensorflow.split(".")[:2]): row.cuda for row in tensorflow_releases()}
    return rows.get((wanted[0], wanted[-1]))


def _too_old(case: Case, python: Python, *, framework: Framework, needs: str) -> Finding:
    cuda = cuda_of(framework) or "?"
    package = pip(python, f"show {shlex.quote(framework.name)}")
    show = f"{package}; nvidia-smi --query-gpu=driver_version --format=csv"
    others: tuple[Step, ...] = (reinstall(case, python),) if framework.name == "torch" else ()
    parts = numbers(cuda) or ()
    if _takes_package(case) and len(parts) > 1:
        others += (_package(written(parts[:2])),)
    return Finding(
        severity="fault",
        title=say(
            "driver {have} is too old for {name} {version} with CUDA {cuda}: it needs {needs}",
            have=driver(case),
            name=framework.name,
            version=framework.version,
            cuda=cuda,
            needs=needs,
        ),
        evidence=(
            Evidence(
                shows=say("driver {driver}", driver=driver(case)),
                command="nvidia-smi --query-gpu=driver_version --format=csv",
            ),
            Evidence(
                shows=say(
                    "{name} {version}, CUDA {cuda}", name=framework.name, version=framework.version, cuda=cuda
                ),
                command=show,
            ),
        ),
        why=say("the framework does not see the cards, and works on the processor or not at all"),
        fix=(
            step(say("install a newer driver: {needs} or later", needs=needs), "rigright setup --script"),
            *others,
        ),
        verify=show,
        confidence="sure" if version_of(needs)[0] > (numbers(driver(case)) or (0,))[0] else "likely",
        about=f"{framework.name}, {python.path}",
    )


def _package(cuda: str) -> Step:
    return step(
        say(
            "or, on datacentre cards, NVIDIA's package cuda-compat-{version}, with its folder first on the "
            "library path",
            version=cuda.replace(".", "-"),
        ),
        f"export LD_LIBRARY_PATH=/usr/local/cuda-{cuda}/compat:$LD_LIBRARY_PATH",
    )
