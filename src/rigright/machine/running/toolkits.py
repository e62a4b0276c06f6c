"""CUDA and ROCm toolkits on disk, NCCL, and the switches' manager."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.bounded import bounded_json
from rigright.machine.running.asking import command_text
from rigright.machine.running.drivers import LIBRARY_FOLDERS
from rigright.machine.system import Package, Toolkit
from rigright.machine.world import World

_CUDA = re.compile(r"cuda(?:-\d+(?:\.\d+)?)?")
_ROCM = re.compile(r"rocm(?:-\d+(?:\.\d+){1,2})?")
_RELEASE = re.compile(r"release (\d+\.\d+), V(\d+\.\d+\.\d+)")
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
_NCCL = re.compile(r"libnccl\.so\.(\d+\.\d+\.\d+)")
_MANAGERS = ("nvidia-fabricmanager", "nvidia-fabric-manager", "cuda-drivers-fabricmanager")


def toolkits(world: World) -> tuple[Toolkit, ...]:
    """Each toolkit once, with the one that programs find by default."""
    cudas: list[Toolkit] = []
    current = world.link("/usr/local/cuda")
    places = {}
    for name in world.names("/usr/local"):
        if _CUDA.fullmatch(name):
            place = world.link(f"/usr/local/{name}") or f"/usr/local/{name}"
            places[place] = _cuda_version(world, place)
    known = [(place, version) for place, version in places.items() if version]
    for place, version in sorted(known):
        cudas.append(Toolkit(name="cuda", path=place, version=version, current=place == current))
    asked = _RELEASE.search(command_text(world, "nvcc", "--version") or "")
    if asked and not any((version or "").startswith(asked[1]) for _, version in known):
        cudas.append(Toolkit(name="cuda", path="nvcc", version=asked[2], current=current is None))
    return (*cudas, *_rocms(world))


def _cuda_version(world: World, place: str) -> str | None:
    """The version a toolkit's folder bears."""
    try:
        value = bounded_json(world.text(f"{place}/version.json") or "null")
        version = value["cuda"]["version"]
        return version if isinstance(version, str) and _NUMBERS.fullmatch(version) else None
    except (ValueError, KeyError, TypeError):
        pass
    old = _NUMBERS.search(world.text(f"{place}/version.txt") or "")
    if old:
        return old[0]
    named = _NUMBERS.search(place.rpartition("/")[2])
    return named[0] if named and world.has(f"{place}/bin/nvcc") else None


def _rocms(world: World) -> Iterator[Toolkit]:
    current = world.link("/opt/rocm")
    places = {
        world.link(f"/opt/{name}") or f"/opt/{name}" for name in world.names("/opt") if _ROCM.fullmatch(name)
    }
    for place in sorted(places):
        version = _NUMBERS.match(world.text(f"{place}/.info/version") or "")
        if version:
            yield Toolkit(name="rocm", path=place, version=version[0], current=place == current)


def nccl(world: World, packages: tuple[Package, ...]) -> str | None:
    """NCCL of the system, by its package or its file; a framework brings its own besides."""
    packed = next(
        (package.version for package in packages if package.name == "libnccl2" and package.version), None
    )
    if packed:
        return packed.partition("-")[0]
    names = (name for folder in LIBRARY_FOLDERS for name in world.names(folder) if "nccl" in name)
    return next((match[1] for name in names if (match := _NCCL.fullmatch(name))), None)


def fabric_version(world: World, packages: tuple[Package, ...]) -> str | None:
    """The version of the switches' manager, by its package, else as it says itself."""
    installed = [
        package
        for package in packages
        if package.state in {"installed", "held"} and package.name.startswith(_MANAGERS)
    ]
    texts = [match[0] for package in installed if (match := _NUMBERS.search(package.version or ""))]
    if texts:
        return texts[0]
    asked = _NUMBERS.search(command_text(world, "nv-fabricmanager", "--version") or "")
    return asked[0] if asked else None
