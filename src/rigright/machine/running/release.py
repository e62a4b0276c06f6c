"""Which system this is: its release, kernel, board and firmware; whether it is a virtual one."""

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


_BY_DMI = (  # words in maker or product -> hypervisor
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("parallels", "parallels"),
    ("xen", "xen"),
    ("hvm domu", "xen"),
    ("bochs", "kvm"),
    ("qemu", "kvm"),
    ("kvm", "kvm"),
    ("openstack", "kvm"),
    ("ovirt", "kvm"),
    ("google compute engine", "kvm"),
    ("alibaba cloud ecs", "kvm"),
    ("digitalocean", "kvm"),
    ("amazon ec2", "kvm"),
    ("apple virtualization", "apple"),
)
_BARE_METAL = re.compile(r"\bmetal\b|\.metal")  # a cloud's whole machine, though its maker is the cloud
_IN_CGROUP = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))
_KINDS = {"docker", "podman", "lxc", "lxc-libvirt", "systemd-nspawn", "kubernetes", "wsl", "oci"}


def virtual(world: World) -> str | None:
    """The hypervisor below; "none" on bare metal."""
    # WSL, by its kernel's name
    version = (world.text("/proc/version") or world.text("/proc/sys/kernel/osrelease") or "").lower()
    if "microsoft" not in version:
        wsl = None
    else:
        wsl = "wsl2" if "wsl2" in version or world.has("/dev/dxg") else "wsl1"
    if wsl is not None:
        return wsl
    dmi = " ".join(world.text(f"{DMI}/{file}") or "" for file in ("sys_vendor", "product_name")).lower()
    if _BARE_METAL.search(dmi):
        return "none"
    if "microsoft corporation" in dmi and "virtual machine" in dmi:
        return "hyperv"
    by_dmi = next((kind for word, kind in _BY_DMI if word in dmi), None)
    if by_dmi is not None:
        return by_dmi
    kind = world.text("/sys/hypervisor/type")
    return kind or _by_flag(world, dmi)


def _by_flag(world: World, dmi: str) -> str | None:
    """An x86 processor says whether a hypervisor hands it out."""
    cpu = world.text("/proc/cpuinfo") or ""
    flags = next((line for line in cpu.splitlines() if line.startswith("flags")), None)
    if flags is not None:
        return "unknown" if "hypervisor" in flags.split() else "none"
    asked = command_text(world, "systemd-detect-virt", "--vm")
    return asked or ("none" if dmi.strip() else None)


def container(world: World) -> str | None:
    """The kind of container we look from; "none" outside of any."""
    named = _named(world)
    if named is not None:
        return named
    first = world.text("/proc/1/comm")
    return "none" if first in {"systemd", "init", "launchd"} else None


def _named(world: World) -> str | None:
    """A container that leaves a mark."""
    if world.is_live and world.env.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if world.has("/run/.containerenv"):
        return "podman"
    if world.has("/.dockerenv"):
        return "docker"
    text = world.text("/run/systemd/container") or (world.env.get("container") if world.is_live else None)
    if text:
        return text if text in _KINDS else "other"
    groups = world.text("/proc/1/cgroup") or ""
    return next((kind for word, kind in _IN_CGROUP if word in groups), None)
