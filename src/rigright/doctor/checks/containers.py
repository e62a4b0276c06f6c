"""Cards in containers and in WSL."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import Case, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import installed, is_contained

LINUX_DRIVERS = (
    r"nvidia-driver-.*|nvidia-driver|cuda-drivers.*|nvidia-dkms-.*|nvidia-kernel-.*|libnvidia-compute-.*"
)


@check(say("containers can be handed a card"))
def container_cards(case: Case) -> Iterator[Verdict]:
    """Whether containers can be handed a card.

    Docker needs NVIDIA's container toolkit and a runtime called nvidia (or, since Docker 25, CDI files that
    name the cards); podman needs CDI. With the toolkit installed and the runtime not configured, `--gpus
    all` fails with "could not select device driver". CDI files made by an older driver name libraries that
    are gone.

    Docker or podman and cards here: no toolkit: note; toolkit but neither runtime nor CDI: warning. Source:
    NVIDIA container toolkit guide.
    """
    software = case.machine.software
    cards = any(one.vendor == "nvidia" for one in case.machine.devices)
    engine = software.docker or installed(case, r"podman|containerd(?:\.io)?")
    if not cards or not engine or is_contained(case):
        return
    runtimes, cdi = software.docker_runtimes, software.cdi
    if "nvidia" in (runtimes or ()):
        yield Fine(says=say("runtime nvidia is configured"))
    elif cdi and any(name.startswith("nvidia.com/gpu=") for name in cdi):
        yield Fine(says=say("{count} devices by CDI", count=len(cdi)))
    elif software.container_toolkit is None:
        yield advise("containers.toolkit")
    elif runtimes is None:
        yield NotSeen(why=say("the container engine does not answer to this user"), see="sudo docker info")
    else:
        yield advise("containers.runtime")


@check(say("WSL has the cards of Windows"))
def wsl_driver(case: Case) -> Iterator[Verdict]:
    """Whether WSL2 has what it needs of Windows, and nothing of Linux's driver.

    In WSL2 the driver is that of Windows: its libraries lie in /usr/lib/wsl/lib and /dev/dxg leads to it. A
    Linux driver installed inside hides them, and then no card is found. WSL1 has no access to cards.

    Packages of a Linux driver inside: fault. No /dev/dxg: fault. WSL1: warning. Source: NVIDIA CUDA on WSL
    user guide.
    """
    system = case.machine.system
    if system.virtual == "wsl1":
        yield advise("containers.wsl1", kernel=system.kernel)
    if system.virtual != "wsl2":
        return
    inside = installed(case, LINUX_DRIVERS)
    files = case.machine.software.device_files
    if inside:
        names = shlex.join(one.name for one in inside)
        yield advise("containers.wsl_linux_driver", packages=names, purge=f"apt purge {names}")
    elif files is None:
        yield NotSeen(why=say("/dev cannot be read here"), see="ls /dev/dxg")
    elif "dxg" not in files:
        yield advise("containers.wsl_no_dxg")
    else:
        yield Fine(says=say("/dev/dxg is there, and no Linux driver"))
