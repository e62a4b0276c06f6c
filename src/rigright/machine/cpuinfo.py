"""/proc/cpuinfo: one block a thread, in words that differ by architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rigright.base.loader import rows
from rigright.base.units import MIB
from rigright.machine.world import World

FLAGS = (
    *("avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_bf16", "amx_int8", "asimd", "asimdhp", "asimddp", "sve", "sve2", "bf16", "i8mm"),
)
_MOST_BYTES = 16 * MIB
VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd", "HygonGenuine": "hygon"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """What the file tells of all threads together."""

    name: str | None = None
    vendor: str | None = None
    arch: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    fastest_mhz: float | None = None
    flags: tuple[str, ...] = ()
    microcode: str | None = None


def read_cpuinfo(world: World) -> Threads:
    """The processors as the kernel's file lists them."""
    blocks = tuple(_blocks(world.text("/proc/cpuinfo", _MOST_BYTES) or ""))
    if not blocks:
        return Threads()
    first = blocks[0]
    is_arm = "CPU implementer" in first
    sockets = {block["physical id"] for block in blocks if "physical id" in block}
    cores = {
        (block["physical id"], block["core id"])
        for block in blocks
        if {"physical id", "core id"} <= set(block)
    }
    clocks = [
        float(block["cpu MHz"])
        for block in blocks
        if block.get("cpu MHz", "").replace(".", "", 1).isdecimal()
    ]
    has = set((first.get("flags") or first.get("Features") or "").split())
    arm = _arm(blocks) if is_arm else ("", "")
    return Threads(
        name=first.get("model name") or arm[1] or None,
        vendor=VENDORS.get(first.get("vendor_id", ""), arm[0] or first.get("vendor_id")),
        arch="aarch64" if is_arm else "x86_64" if "vendor_id" in first else None,
        sockets=len(sockets) or None,
        cores=len(cores) or None,
        threads=len(blocks),
        fastest_mhz=max(clocks, default=None),
        flags=tuple(flag for flag in FLAGS if flag in has),
        microcode=first.get("microcode"),
    )  # fmt: skip


def _blocks(text: str) -> Iterator[Mapping[str, str]]:
    """One thread each: those that number a processor."""
    for part in text.split("\n\n"):
        lines = (line.partition(":") for line in part.splitlines() if ":" in line)
        block = {name.strip(): value.strip() for name, _, value in lines}
        if "processor" in block:
            yield block


def _arm(blocks: tuple[Mapping[str, str], ...]) -> tuple[str, str]:
    """Maker and designs of Arm cores, large and small, out of their two numbers."""
    pairs = dict.fromkeys((block.get("CPU implementer", ""), block.get("CPU part", "")) for block in blocks)
    known = {
        (implementer, part): (vendor, name)
        for implementer, part, vendor, name in rows("arm_cores.csv", "implementer", "part", "vendor", "name")
    }
    result = [known[pair] for pair in pairs if pair in known]
    return (result[0][0], " + ".join(name for _, name in result)) if result else ("", "")
