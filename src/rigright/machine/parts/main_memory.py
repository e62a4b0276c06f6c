"""Main memory: size, limits, pages, swap, shared memory, modules, errors."""

from __future__ import annotations

import re

from rigright.base.units import KIB, MIB
from rigright.machine.cells import chosen, whole, whole_of, word_of
from rigright.machine.control_groups import memory_limit_bytes
from rigright.machine.host import Memory, MemoryModule
from rigright.machine.meminfo import meminfo
from rigright.machine.mounts import entries
from rigright.machine.parts.bus import why_no_table
from rigright.machine.record import Read, Unseen
from rigright.machine.running.settings import limits
from rigright.machine.smbios import memory_modules
from rigright.machine.world import World

_SHARED = "/dev/shm"  # noqa: S108 - looked at, never written
_SEE_MODULES = "sudo dmidecode -t memory"
_EDAC = "/sys/devices/system/edac/mc"
_SIZES = {"k": KIB, "m": MIB, "g": KIB * MIB}


def read(world: World) -> Read:
    """Memory of /proc and /sys; of macOS and Windows as far as they tell."""
    fields = meminfo(world)
    if "MemTotal" not in fields:
        # systems without /proc: macOS's own count, else what Python's psutil knows
        reply = world.run("sysctl", "-n", "hw.memsize")
        size = whole(reply.out) if reply is not None and reply.code == 0 else None
        if size is not None:
            elsewhere: Memory = Memory(
                total_bytes=float(size), available_bytes=_by_psutil(world).available_bytes
            )
        else:
            elsewhere = _by_psutil(world)
        return Read(fields={"memory": elsewhere})
    total = fields["MemTotal"]
    modules = memory_modules(world) or _by_edac(world)
    corrected, uncorrected = _errors(world)
    # the container's limit, where it is below what the machine has
    limit = memory_limit_bytes(world)
    if "SwapTotal" not in fields or "SwapFree" not in fields:
        used_swap = None
    else:
        used_swap = fields["SwapTotal"] - fields["SwapFree"]
    memory = Memory(
        total_bytes=total,
        available_bytes=fields.get("MemAvailable"),
        limit_bytes=limit if limit is not None and limit < total else None,
        swap_total_bytes=fields.get("SwapTotal"),
        swap_used_bytes=used_swap,
        huge_total=int(fields["HugePages_Total"]) if "HugePages_Total" in fields else None,
        huge_bytes=fields.get("Hugepagesize"),
        transparent_huge=chosen(world.text("/sys/kernel/mm/transparent_hugepage/enabled", 256)),
        shm_bytes=_shared(world, total),
        locked_limit_bytes=dict(limits(world)).get("memlock"),
        modules=modules,
        corrected_errors=corrected,
        uncorrected_errors=uncorrected,
    )
    unseen = () if modules else (Unseen(what="memory.modules", why=why_no_table(world), see=_SEE_MODULES),)
    return Read(fields={"memory": memory}, unseen=unseen)


def _shared(world: World, total: float) -> float | None:
    """The size of shared memory; the kernel does not tell the size it gives unasked, half of memory."""
    entry = next((item for item in reversed(entries(world)) if item.path == _SHARED), None)
    if entry is None or entry.kind != "tmpfs":
        return None
    text = next((item.removeprefix("size=") for item in entry.of_system if item.startswith("size=")), None)
    if text is None:
        return total / 2
    size = whole(text)
    if text.endswith("%"):
        return None if size is None else total * size / 100
    return None if size is None else float(size * _SIZES.get(text[-1].lower(), 1))


def _controllers(world: World) -> tuple[str, ...]:
    return tuple(f"{_EDAC}/{name}" for name in world.names(_EDAC) if re.fullmatch(r"mc\d{1,3}", name))


def _errors(world: World) -> tuple[int | None, int | None]:
    """Corrected and uncorrected errors since boot, of all memory controllers."""
    corrected = [whole_of(world, f"{at}/ce_count") for at in _controllers(world)]
    uncorrected = [whole_of(world, f"{at}/ue_count") for at in _controllers(world)]
    seen = ([count for count in counts if count is not None] for counts in (corrected, uncorrected))
    first, second = (sum(counts) if counts else None for counts in seen)
    return first, second


def _by_edac(world: World) -> tuple[MemoryModule, ...] | None:
    """Filled places as the error counters list them, which everyone may read: size and kind, no speed."""
    modules = []
    for at in _controllers(world):
        for name in world.names(at):
            size = whole_of(world, f"{at}/{name}/size") if name.startswith("dimm") else None
            if size:
                place = word_of(world, f"{at}/{name}/dimm_location") or name
                kind = word_of(world, f"{at}/{name}/dimm_mem_type") or ""
                channel = re.search(r"channel (\d{1,18})", place)
                modules.append(MemoryModule(
                    slot=word_of(world, f"{at}/{name}/dimm_label") or f"{at.rpartition('/')[2]} {place}",
                    channel=f"{at.rpartition('/')[2]}/{channel.group(1)}" if channel else None,
                    size_bytes=float(size * MIB),
                    kind=kind.rpartition("-")[2] or None,
                ))  # fmt: skip
    return tuple(modules) or None


def _by_psutil(world: World) -> Memory:
    if not world.is_own:
        return Memory()
    try:
        import psutil
    except ImportError:
        return Memory()
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return Memory(
        total_bytes=float(memory.total),
        available_bytes=float(memory.available),
        swap_total_bytes=float(swap.total),
        swap_used_bytes=float(swap.used),
    )
