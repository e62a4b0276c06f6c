"""What firmware and kernel hold programs to: Secure Boot, lockdown, the IOMMU."""

from __future__ import annotations

from rigright.machine.running.asking import command_text
from rigright.machine.world import World

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
