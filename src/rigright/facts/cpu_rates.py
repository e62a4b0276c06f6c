"""What processors could compute and read, from their cores, clocks and channels; and finding one by name."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.errors import AskError
from rigright.base.record import dataclass
from rigright.base.tables import DATA, CellReader, number, read_rows, scaled, text, yes
from rigright.base.units import GIGA, MEGA
from rigright.base.words import say
from rigright.facts.cpus import CHANNEL_BYTES, cpus

VECTOR_FLOPS = 32.0  # a core and cycle, of architectures nobody listed: two 256-bit multiply-adds
_WORD = re.compile(r"[a-z]*[0-9][a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRate:
    """One socket: 32-bit rate at its base clock, and peak bandwidth of its memory; nan: unknown."""

    name: str
    flops_per_s: float
    mem_bytes_per_s: float


def find_cpu(name: str) -> CpuRate:
    """The processor whose name has all the numbers a loose one has: "CPU i9-10940X"."""
    words = set(_WORD.findall(name.lower()))
    found = [rate for rate in cpu_rates() if words and words <= set(_WORD.findall(rate.name.lower()))]
    if not found:
        raise AskError(say('unknown processor "{name}"', name=name[:60]))
    return min(found, key=lambda rate: len(rate.name))


@cache
def cpu_rates() -> tuple[CpuRate, ...]:
    """Every processor that can be bought, and older ones that benchmarks ran on."""
    sold = tuple(
        CpuRate(
            name=cpu.name,
            flops_per_s=cpu.cores * (cpu.base_hz or float("nan")) * _vector_flops(cpu.architecture),
            mem_bytes_per_s=cpu.mem_bytes_per_s or float("nan"),
        )
        for cpu in cpus()
    )
    readers: dict[str, CellReader] = dict.fromkeys(("name", "architecture"), text)
    readers |= {"cores": number, "base_ghz": scaled(GIGA)}
    readers |= {"mem_channels": number, "mem_mt_per_s": scaled(MEGA)}
    rows = read_rows(DATA / "cpus_benched.csv", readers, required=tuple(readers))
    benched = tuple(
        CpuRate(
            name=row["name"],
            flops_per_s=row["cores"] * row["base_ghz"] * _vector_flops(row["architecture"]),
            mem_bytes_per_s=row["mem_channels"] * row["mem_mt_per_s"] * CHANNEL_BYTES,
        )
        for row in rows
    )
    return sold + benched


def _vector_flops(architecture: str) -> float:
    known = vectors().get(architecture)
    return VECTOR_FLOPS if known is None else known.flops_per_cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """What a core of an architecture does at once."""

    flops_per_cycle: float  # 32 bit
    dot8: bool  # an instruction for sums of 8-bit products: VNNI, or Arm's
    amx: bool  # Intel's tiles


@cache
def vectors() -> dict[str, Vectors]:
    """Every architecture that is known."""
    readers: dict[str, CellReader] = {"architecture": text, "fp32_flops_per_cycle": number}
    readers |= {"dot8": yes, "amx": yes}
    rows = read_rows(DATA / "cpu_vectors.csv", readers, required=tuple(readers))
    return {
        row["architecture"]: Vectors(
            flops_per_cycle=row["fp32_flops_per_cycle"], dot8=row["dot8"], amx=row["amx"]
        )
        for row in rows
    }
