"""CPUs: cores, memory channels, lanes left for cards; what they could compute; finding one by name."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated

from rigright.base.errors import AskError
from rigright.base.loader import records
from rigright.base.record import dataclass
from rigright.base.words import say

CHANNEL_BYTES = 8  # a memory channel is 64 bits wide
VECTOR_FLOPS = 32.0  # a core and cycle, of architectures nobody listed: two 256-bit multiply-adds
_NUMBERED = re.compile(r"[a-z]*[0-9][a-z0-9]+")
_NOISE = re.compile(r"\(r\)|\(tm\)|®|™|@.*$|\b\d+-cores?\b|\bprocessor\b|\bcpu\b|\([^)]*\)")
_WORD = re.compile(r"[a-z0-9][a-z0-9+-]*")
_MOST_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuModel:
    """One CPU. None is unknown."""

    id: str
    name: str
    vendor: str
    architecture: str
    socket: str
    max_sockets: int  # how many work together on one board
    cores: int
    threads: int
    base_hz: float | None
    boost_hz: float | None
    pcie_gen: int
    pcie_lanes: int
    pcie_lanes_free: int  # of these, left for cards once the chipset has its share
    mem_channels: int | None
    mem_type: str
    mem_transfers_per_s: float | None  # fastest official rate
    mem_max_bytes: float
    ecc: str  # "y", or on which boards
    tdp_w: float
    list_price_usd: float | None
    street_price_usd: float | None
    street_as_of: str | None
    source: str
    as_of: str
    confidence: str
    notes: str | None

    @property
    def mem_bytes_per_s(self) -> float | None:
        """Peak memory bandwidth of one socket with every channel filled."""
        if self.mem_channels is None or self.mem_transfers_per_s is None:
            return None
        return self.mem_channels * self.mem_transfers_per_s * CHANNEL_BYTES


@cache
def cpus() -> tuple[CpuModel, ...]:
    """Every CPU of the table, in its order."""
    return records("cpus.csv", CpuModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRate:
    """One socket: 32-bit rate at its base clock, and peak bandwidth of its memory; nan: unknown."""

    name: str
    flops_per_s: float
    mem_bytes_per_s: float


def find_cpu(name: str) -> CpuRate:
    """The processor whose name has all the numbers a loose one has: "CPU i9-10940X"."""
    words = set(_NUMBERED.findall(name.lower()))
    result = [rate for rate in cpu_rates() if words and words <= set(_NUMBERED.findall(rate.name.lower()))]
    if not result:
        raise AskError(say('unknown processor "{name}"', name=name[:60]))
    return min(result, key=lambda rate: len(rate.name))


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
    benched = tuple(
        CpuRate(
            name=cpu.name,
            flops_per_s=cpu.cores * cpu.base_hz * _vector_flops(cpu.architecture),
            mem_bytes_per_s=cpu.mem_channels * cpu.mem_transfers_per_s * CHANNEL_BYTES,
        )
        for cpu in benched_cpus()
    )
    return sold + benched


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchedCpu:
    """A processor that benchmarks ran on, though it can be bought no more."""

    name: str
    architecture: str
    cores: int
    base_hz: float
    mem_channels: int
    mem_transfers_per_s: float


@cache
def benched_cpus() -> tuple[BenchedCpu, ...]:
    """Every one of the table, in its order."""
    return records("cpus_benched.csv", BenchedCpu)


def _vector_flops(architecture: str) -> float:
    known = vectors().get(architecture)
    return VECTOR_FLOPS if known is None else known.flops_per_cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """What a core of an architecture does at once."""

    architecture: str
    flops_per_cycle: Annotated[float, "fp32_flops_per_cycle"]  # 32 bit
    dot8: bool  # an instruction for sums of 8-bit products: VNNI, or Arm's
    amx: bool  # Intel's tiles


@cache
def vectors() -> dict[str, Vectors]:
    """Every architecture that is known."""
    return {record.architecture: record for record in records("cpu_vectors.csv", Vectors)}


def cpu_named(name: str | None) -> CpuModel | None:
    """The processor all of whose words stand in the name; None where none or several do."""
    words = _words((name or "")[:_MOST_CHARS])
    cpu_models = [cpu for cpu, wanted in _known() if wanted <= words]
    longest = max((len(_words(cpu.name)) for cpu in cpu_models), default=0)
    best = [cpu for cpu in cpu_models if len(_words(cpu.name)) == longest]
    return best[0] if len(best) == 1 else None


@cache
def _known() -> tuple[tuple[CpuModel, frozenset[str]], ...]:
    return tuple((cpu, _words(cpu.name)) for cpu in cpus())


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_NOISE.sub(" ", name.lower())))
