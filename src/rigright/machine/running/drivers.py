"""NVIDIA's driver on disk and in the kernel: module, libraries, DKMS, device files."""

from __future__ import annotations

import re
from typing import Any

from rigright.machine.running.asking import command_text, lines
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
