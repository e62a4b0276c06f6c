"""Kernel modules: loaded, kept out, their options; and what firmware and kernel hold programs to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import MIB
from rigright.machine.running.asking import command_text
from rigright.machine.system import Module
from rigright.machine.world import World

_MATTER = re.compile(
    r"nvidia.*|nouveau|nova.*|gdrdrv|nv_peer_mem|amdgpu|amdkfd|radeon|i915|xe|habanalabs|dxgkrnl|vfio.*"
    r"|ib_.*|rdma_.*|mlx\d.*|efa|bnxt_re|irdma|knem|nvme.*|ipmi_.*|acpi_ipmi|zfs|lustre|kvm.*"
)
_SIGNED = ("nvidia", "amdgpu")  # whose signature is asked for
_FOLDERS = (
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
    "/usr/local/lib/modprobe.d",
    "/run/modprobe.d",
    "/etc/modprobe.d",
)
_KEPT_OUT = re.compile(
    r"(?:blacklist\s+(\S+)|install\s+(\S+)\s+(?:/usr)?/bin/(?:true|false)|alias\s+(\S+)\s+off)\s*\Z"
)
_OPTIONS = re.compile(r"options\s+(\S+)\s+(.+)")
_AT_START = re.compile(r"(?:modprobe\.blacklist|rd\.driver\.blacklist|module_blacklist)=(\S+)")


def modules(world: World) -> tuple[Module, ...] | None:
    """The loaded modules that matter here; None where the list is closed to us."""
    text = world.text("/proc/modules", most=MIB)
    if text is None:
        return None
    loaded = (line.split() for line in text.splitlines())
    return tuple(
        _module(world, fields) for fields in loaded if len(fields) >= 4 and _MATTER.fullmatch(fields[0])
    )


def _module(world: World, fields: list[str]) -> Module:
    name = fields[0]
    asked = name in _SIGNED
    licence = command_text(world, "modinfo", "-F", "license", name) if name == "nvidia" else None
    return Module(
        name=name,
        version=world.text(f"/sys/module/{name}/version"),
        users=tuple(user for user in fields[3].split(",") if user not in {"", "-"}),
        signer=(command_text(world, "modinfo", "-F", "signer", name) or None) if asked else None,
        open_source=None if not licence else "MIT" in licence or "GPL" in licence,
    )


def blacklisted(world: World) -> tuple[str, ...]:
    """Modules that modprobe or the kernel's command line keep out."""
    values = [
        next(filter(None, match.groups())) for line in _configured(world) if (match := _KEPT_OUT.match(line))
    ]
    for words in _AT_START.findall(world.text("/proc/cmdline") or ""):
        values += words.split(",")
    return tuple(sorted({name.replace("-", "_") for name in values if name}))


def module_options(world: World) -> tuple[tuple[str, str], ...]:
    """Options of the modules that matter: ("nvidia NVreg_EnableGpuFirmware", "0")."""
    fields: dict[str, str] = {}
    for line in _configured(world):
        match = _OPTIONS.match(line)
        if match is None or not _MATTER.fullmatch(match[1].replace("-", "_")):
            continue
        for word in match[2].split():
            option, _, value = word.partition("=")
            fields[f"{match[1]} {option}"] = value
    return tuple(sorted(fields.items()))


def _configured(world: World) -> Iterator[str]:
    """The lines of modprobe.d; a file of /etc hides one of the same name below /usr."""
    files: dict[str, str] = {}
    for folder in _FOLDERS:
        files |= {name: folder for name in world.names(folder) if name.endswith(".conf")}
    for name, folder in sorted(files.items()):
        text = world.text(f"{folder}/{name}") or ""
        for line in text.replace("\\\n", " ").splitlines():
            bare = line.strip()
            if bare and not bare.startswith("#"):
                yield bare


EFI = "/sys/firmware/efi"
_SECURE_BOOT = f"{EFI}/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_ATTRIBUTES = 4  # bytes before the value of an EFI variable
_GROUPS = "/sys/kernel/iommu_groups"
_STRAIGHT = ("iommu=pt", "iommu.passthrough=1", "iommu=soft")


def secure_boot(world: World, container: str | None) -> bool | None:
    """Whether only signed modules are loaded; a machine that boots without EFI has no such thing."""
    value = world.raw(_SECURE_BOOT, most=_ATTRIBUTES + 1)
    if value is not None and len(value) > _ATTRIBUTES:
        return value[_ATTRIBUTES] == 1
    asked = command_text(world, "mokutil", "--sb-state") or ""
    if "SecureBoot" in asked:
        return "enabled" in asked
    if not world.names("/sys/firmware") or world.has(EFI):
        return None
    return None if container not in {None, "none"} else False


def lockdown(world: World) -> str | None:
    """The kernel's lockdown: "none", "integrity", "confidentiality"."""
    text = world.text("/sys/kernel/security/lockdown") or ""
    return next((word.strip("[]") for word in text.split() if word.startswith("[")), None)


def iommu(world: World) -> str | None:
    """Whether devices' memory accesses are translated: "on", "passthrough", "off"."""
    if not world.has("/sys/kernel"):
        return None
    groups = world.names(_GROUPS)
    if not groups:
        return "off" if world.has(_GROUPS) else None
    kind = world.text(f"{_GROUPS}/{groups[0]}/type") or ""
    if kind:
        return "passthrough" if kind == "identity" else "on"
    cmdline = (world.text("/proc/cmdline") or "").split()
    return "passthrough" if any(word in _STRAIGHT for word in cmdline) else "on"
