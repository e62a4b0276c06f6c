"""Packages of the system that matter here, and container engines with their way to a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import json_object
from rigright.base.units import MIB
from rigright.machine.running.asking import command_text, lines
from rigright.machine.system import Package
from rigright.machine.world import World

_MATTER = re.compile(
    r"(?:lib)?nvidia.*|xserver-xorg-video-(?:nvidia|nouveau).*|(?:lib)?cuda.*|libcu(?:dnn|blas|tensor).*|libnccl.*"
    r"|nccl|tensorrt.*|libnvinfer.*|akmod-nvidia.*|kmod-nvidia.*|xorg-x11-drv-nvidia.*|dkms|gdrcopy|linux-modules-nvidia.*"
    r"|linux-objects-nvidia.*|datacenter-gpu-manager.*|rocm.*|hip-.*|amdgpu.*|amd-smi-lib|docker(?:-ce|\.io)?"
    r"|moby-engine|podman|containerd(?:\.io)?|doca-.*|mlnx-ofed.*|rdma-core|unattended-upgrades|cudnn.*"
)
_DPKG = "/var/lib/dpkg/status"
_RPM = ("/usr/lib/sysimage/rpm", "/var/lib/rpm")
_PACMAN = "/var/lib/pacman/local"
_PACMAN_NAME = re.compile(r"(?P<name>.+)-(?P<version>[^-]+-[^-]+)")
_MOST_BYTES = 32 * MIB
PATIENCE_S = 4.0


def packages(world: World) -> tuple[Package, ...]:
    """All that matter, sorted."""
    of_dpkg: list[Package] = []
    text = world.text(_DPKG, most=_MOST_BYTES)
    for block in (text or "").split("\n\n"):
        name = _field(block, "Package")
        if not name or not _MATTER.fullmatch(name):
            continue
        wish, _, state = _field(block, "Status").partition(" ")
        state = state.rpartition(" ")[2]
        if state == "not-installed":
            continue
        flag = state == "installed" and wish == "hold"
        of_dpkg.append(
            Package(name=name, version=_field(block, "Version") or None, state="held" if flag else state)
        )
    result = list(of_dpkg) or list(_of_pacman(world)) or list(_of_rpm(world))
    return tuple(sorted(result, key=lambda package: (package.name, package.version or "")))


def _field(block: str, name: str) -> str:
    """One field of a package's block; the first line of it."""
    start = 0 if block.startswith(f"{name}: ") else block.find(f"\n{name}: ") + 1
    if start == 0 and not block.startswith(f"{name}: "):
        return ""
    return block[start + len(name) + 2 :].partition("\n")[0].strip()


def _of_pacman(world: World) -> Iterator[Package]:
    for folder in world.names(_PACMAN):
        match = _PACMAN_NAME.fullmatch(folder)
        if match and _MATTER.fullmatch(match["name"]):
            yield Package(name=match["name"], version=match["version"], state="installed")


def _of_rpm(world: World) -> Iterator[Package]:
    if not any(world.has(folder) for folder in _RPM):
        return
    asked = command_text(
        world, "rpm", "-qa", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\\n", patience_s=PATIENCE_S
    )
    for line in lines(asked):
        name, _, version = line.partition(" ")
        if _MATTER.fullmatch(name):
            yield Package(name=name, version=version, state="installed")


_CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi", "/run/cdi")
_CDI_KIND = re.compile(r"(?<![\w])\"?kind\"?:\s*\"?([\w./-]+)\"?")
_CDI_NAME = re.compile(r"(?<![\w])\"?name\"?:\s*\"?([\w:.-]+)\"?")
_ENGINES = ("docker-ce", "docker.io", "docker", "moby-engine", "podman")
_TOOLKIT = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "nvidia-docker2", "nvidia-docker")
_FORMAT = "{{.ServerVersion}}\t{{json .Runtimes}}\t{{.DefaultRuntime}}"
_DAEMON = "/etc/docker/daemon.json"


def containers(world: World, packages: tuple[Package, ...]) -> dict[str, Any]:
    """Fields of `Software` on containers."""
    installed = {
        package.name: package.version for package in packages if package.state in {"installed", "held"}
    }
    version, runtimes, default = _docker(world)
    packed = next((installed[name] for name in _ENGINES if name in installed), None)
    # devices by their CDI names; None where no folder for them is there
    files = [f"{folder}/{name}" for folder in _CDI_FOLDERS for name in world.names(folder)]
    if not files and not any(world.has(folder) for folder in _CDI_FOLDERS):
        cdi = None
    else:
        texts = {name for file in files for name in _devices(world.text(file) or "")}
        cdi = tuple(sorted(texts))
    return {
        "docker": version or packed,
        "docker_runtimes": runtimes,
        "docker_default": default,
        "container_toolkit": next((installed[name] for name in _TOOLKIT if name in installed), None),
        "cdi": cdi,
    }


def _docker(world: World) -> tuple[str | None, tuple[str, ...] | None, str | None]:
    """Version, runtimes and the default one: as the daemon says, else as its file does."""
    texts = (command_text(world, "docker", "info", "--format", _FORMAT) or "").split("\t")
    if len(texts) == 3 and texts[0]:
        return texts[0], tuple(sorted(json_object(texts[1]))), texts[2] or None
    text = world.text(_DAEMON)
    if text is None:
        return None, None, None
    settings = json_object(text)
    runtimes = settings.get("runtimes")
    default = settings.get("default-runtime")
    return (
        None,
        tuple(sorted(map(str, runtimes))) if isinstance(runtimes, dict) else (),
        default if isinstance(default, str) else None,
    )


def _devices(text: str) -> Iterator[str]:
    """Names of one specification, YAML or JSON: kind=device."""
    kind = _CDI_KIND.search(text)
    if kind is None:
        return
    for name in _CDI_NAME.findall(text):
        yield f"{kind[1]}={name}"
