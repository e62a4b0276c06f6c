"""NVIDIA's driver on disk and in the kernel; CUDA and ROCm toolkits, NCCL, and the switches' manager."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.machine.running.asking import command_text, lines
from rigright.machine.system import Package, Toolkit
from rigright.machine.world import World

LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/usr/lib/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
    "/usr/lib/wsl/drivers",
)
_LIBRARY = re.compile(r"lib(?:nvidia-ml|cuda)\.so\.(\d{3}\.\d{1,3}(?:\.\d{1,3})?)")
_MODULE = re.compile(r"\b(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b")
_DKMS_TREE = "/var/lib/dkms"
_DKMS_NAMES = ("nvidia", "nvidia-open", "nvidia-current", "nvidia-srv", "nvidia-current-open", "amdgpu")
_DKMS_LINE = re.compile(
    r"(?P<name>[\w-]+)[/,]\s*(?P<version>[\w.+~-]+)(?:,\s*(?P<kernel>[^,:]+),\s*[^:]+)?:\s*(?P<state>.+)"
)
_DEVICE_FILE = re.compile(
    r"nvidia\d{1,3}|nvidiactl|nvidia-uvm|nvidia-uvm-tools|nvidia-modeset|nvidia-caps|nvidia-nvswitch(?:ctl|\d+)|kfd|dxg"
)


def drivers(world: World) -> dict[str, Any]:
    """Fields of `Software` on the driver, but for what its library says."""
    loaded = world.text("/proc/driver/nvidia/version")
    line = (loaded or "").partition("\n")[0]
    version = _MODULE.search(line)
    # versions of the driver's libraries, by the names of their files
    texts = {
        match[1]
        for folder in LIBRARY_FOLDERS
        for name in world.names(folder)
        if (match := _LIBRARY.fullmatch(name))
    }
    # the device files of accelerators; None where /dev cannot be seen
    names = world.names("/dev")
    # files of AMD's and Intel's cards that are there and closed to us; None where nobody can try
    if world.is_live:
        render = (f"dri/{name}" for name in world.names("/dev/dri") if name.startswith("renderD"))
        closed_files = tuple(name for name in ("kfd", *render) if world.denied(f"/dev/{name}"))
    else:
        closed_files = None
    # whether network cards may reach GPU memory: a module of NVIDIA's, or its forerunner
    modules = world.text("/proc/modules")
    listed = {text.split()[0] for text in lines(modules or "")}
    peermem = None if modules is None else bool(listed & {"nvidia_peermem", "nv_peer_mem"})
    return {
        "kernel_driver": version[1] if version else world.text("/sys/module/nvidia/version"),
        "open_kernel": "Open Kernel Module" in line if line else None,
        "disk_driver": _on_disk(world),
        "library_drivers": tuple(sorted(texts)),
        "dkms": dkms(world),
        "device_files": (tuple(name for name in names if _DEVICE_FILE.fullmatch(name)) if names else None),
        "closed_files": closed_files,
        "peermem": peermem,
    }


def _on_disk(world: World) -> str | None:
    """The version of the module that would be loaded into the running kernel."""
    for name in ("nvidia", "nvidia-current"):
        version = command_text(world, "modinfo", "-F", "version", name)
        if version:
            return version
    return None


def dkms(world: World) -> tuple[tuple[str, str], ...]:
    """("nvidia/550.54.15 6.8.0-40-generic", "installed"): from DKMS's own tree, else from what it says."""
    if world.names(_DKMS_TREE):
        return tuple(sorted(_from_tree(world).items()))
    fields = {}
    for line in lines(command_text(world, "dkms", "status")):
        match = _DKMS_LINE.fullmatch(line)
        if match and match["name"] in _DKMS_NAMES:
            fields[_named(match["name"], match["version"], kernel=match["kernel"])] = match["state"].split()[
                0
            ]
    return tuple(sorted(fields.items()))


def _from_tree(world: World) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name in _DKMS_NAMES:
        top = f"{_DKMS_TREE}/{name}"
        for version in world.names(top):
            if not version[:1].isdigit():
                continue
            built = [kernel for kernel in world.names(f"{top}/{version}") if kernel[:1].isdigit()]
            for kernel in built:
                # DKMS marks what it installed with a link: kernel-6.8.0-40-generic-x86_64 -> 550.54.15/
                marks = [name for name in world.names(top) if name.startswith(f"kernel-{kernel}-")]
                state = (
                    "installed"
                    if any(f"/{version}/" in (world.link(f"{top}/{mark}") or "") for mark in marks)
                    else "built"
                )
                fields[_named(name, version, kernel=kernel)] = state
            if not built:
                fields[_named(name, version, kernel=None)] = "added"
    return fields


def _named(name: str, version: str, *, kernel: str | None) -> str:
    return f"{name}/{version}" + (f" {kernel.strip()}" if kernel else "")


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
