"""GPUs in containers and in WSL."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise
from rigright.doctor.record import CheckInput, Fine, NotSeen, Verdict, check
from rigright.doctor.stack import installed, is_contained

_LINUX_DRIVERS = (
    r"nvidia-driver-.*|nvidia-driver|cuda-drivers.*|nvidia-dkms-.*|nvidia-kernel-.*|libnvidia-compute-.*"
)


@check(say("GPU support in containers"))
def container_cards(case: CheckInput) -> Iterator[Verdict]:
    """Whether containers can use the GPUs.

    Docker needs NVIDIA Container Toolkit and a runtime called nvidia (or, since Docker 25, CDI files that
    name the GPUs); Podman needs CDI. With the toolkit installed but the runtime not configured, `--gpus all`
    fails with "could not select device driver". CDI files from an older driver name libraries that no longer
    exist.

    Docker or Podman and GPUs here: no toolkit: note; toolkit but neither runtime nor CDI: warning. Source:
    NVIDIA container toolkit guide.
    """
    software = case.machine.software
    cards = any(device.vendor == "nvidia" for device in case.machine.devices)
    engine = software.docker or installed(case, r"podman|containerd(?:\.io)?")
    if not cards or not engine or is_contained(case):
        return
    runtimes, cdi = software.docker_runtimes, software.cdi
    if "nvidia" in (runtimes or ()):
        yield Fine(says=say("nvidia runtime configured"))
    elif cdi and any(name.startswith("nvidia.com/gpu=") for name in cdi):
        yield Fine(says=say("CDI devices: {count}", count=len(cdi)))
    elif software.container_toolkit is None:
        yield advise("containers.toolkit")
    elif runtimes is None:
        yield NotSeen(why=say("no permission to query the container engine"), see="sudo docker info")
    else:
        yield advise("containers.runtime")


@check(say("GPU access in WSL"))
def wsl_driver(case: CheckInput) -> Iterator[Verdict]:
    """Whether WSL2 uses the Windows GPU driver, with no Linux driver in its way.

    WSL2 uses the Windows driver: its libraries are in /usr/lib/wsl/lib, its device is /dev/dxg. A Linux
    driver inside WSL2 shadows those libraries, and programs find no GPU. WSL1 has no GPU support.

    Packages of a Linux driver inside: fault. No /dev/dxg: fault. WSL1: warning. Source: NVIDIA CUDA on WSL
    user guide.
    """
    system = case.machine.system
    if system.virtual == "wsl1":
        yield advise("containers.wsl1", kernel=system.kernel)
    if system.virtual != "wsl2":
        return
    inside = installed(case, _LINUX_DRIVERS)
    files = case.machine.software.device_files
    if inside:
        names = shlex.join(package.name for package in inside)
        yield advise("containers.wsl_linux_driver", packages=names, purge=f"apt purge {names}")
    elif files is None:
        yield NotSeen(why=say("/dev could not be read"), see="ls /dev/dxg")
    elif "dxg" not in files:
        yield advise("containers.wsl_no_dxg")
    else:
        yield Fine(says=say("/dev/dxg present, no Linux driver installed"))
