"""Which system this is: its release, kernel, board and firmware."""

from __future__ import annotations

import re
from typing import Any

from rigright.machine.running.asking import command_text
from rigright.machine.values import firmware_word
from rigright.machine.world import World

RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
DMI = "/sys/class/dmi/id"
_KERNEL = re.compile(r"\d+\.\d+[\w.+~-]*")
_REBOOT_MARKS = ("/run/reboot-required", "/var/run/reboot-required")
_MARKS_REBOOTS = {"ubuntu", "pop", "linuxmint"}  # systems that leave a mark when they want a reboot


def release(world: World) -> dict[str, Any]:
    """Fields of `System` that name system, kernel and board."""
    text = next((text for file in RELEASE_FILES if (text := world.text(file)) is not None), "")
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    fields = {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
    kernel = world.text("/proc/sys/kernel/osrelease")
    # whether the system wants a reboot; None where it leaves no such mark
    os_id = fields.get("ID")
    if any(world.has(mark) for mark in _REBOOT_MARKS):
        needs_reboot: bool | None = True
    else:
        looked = world.has("/run") or world.has("/var/run")
        needs_reboot = False if os_id in _MARKS_REBOOTS and looked else None
    stated = world.text("/proc/sys/kernel/arch") or command_text(world, "uname", "-m")
    if stated:
        processor: str | None = stated
    else:
        endings = ("x86_64", "aarch64", "ppc64le", "amd64", "arm64")
        ending = next((name for name in endings if kernel and kernel.endswith(name)), None)
        processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(ending, ending) if ending else None
    return {
        "host": world.text("/proc/sys/kernel/hostname"),
        "os_id": fields.get("ID"),
        "os_version": fields.get("VERSION_ID"),
        "os_name": fields.get("PRETTY_NAME"),
        "kernel": kernel,
        "kernels": kernels(world),
        "arch": processor,
        "cmdline": world.text("/proc/cmdline"),
        "up_s": uptime_s(world),
        "needs_reboot": needs_reboot,
        **_board(world),
    }


def kernels(world: World) -> tuple[str, ...]:
    """Installed kernels, oldest first: those with modules or an image."""
    with_modules = {name for name in world.names("/lib/modules") if _KERNEL.fullmatch(name)}
    images = {
        name.partition("-")[2] for name in world.names("/boot") if name.startswith(("vmlinuz-", "Image-"))
    }
    return tuple(sorted({name for name in with_modules | images if _KERNEL.fullmatch(name)}, key=order))


def order(kernel: str) -> tuple[int, ...]:
    """What kernels are sorted by: the numbers of their version."""
    return tuple(int(part[:9]) for part in re.findall(r"\d+", kernel))


def uptime_s(world: World) -> float | None:
    """Seconds since its start."""
    first = (world.text("/proc/uptime") or "").partition(" ")[0]
    try:
        return float(first)
    except ValueError:
        return None


def _board(world: World) -> dict[str, str | None]:
    """Board and firmware, by DMI, or by the device tree of a board without."""
    files = {
        "maker": "sys_vendor",
        "product": "product_name",
        "board": "board_name",
        "bios": "bios_version",
        "bios_date": "bios_date",
    }
    fields = {field: firmware_word(world.text(f"{DMI}/{file}")) for field, file in files.items()}
    if fields["product"] is None:
        tree = world.text("/proc/device-tree/model")
        fields["product"] = firmware_word(tree.rstrip("\0")) if tree else None
    return fields
