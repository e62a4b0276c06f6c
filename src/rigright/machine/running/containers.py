"""Container engines, and whether they can hand a GPU to a container."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import json_object
from rigright.machine.running.asking import command_text
from rigright.machine.system import Package
from rigright.machine.world import World

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
