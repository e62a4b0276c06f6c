"""Whether the machine is a virtual one, and whether we look from inside a container."""

from __future__ import annotations

import re

from rigright.machine.running.asking import command_text
from rigright.machine.running.release import DMI
from rigright.machine.world import World

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
