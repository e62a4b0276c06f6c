"""What processors could compute and read, from their cores, clocks and channels; and finding one by name."""

from __future__ import annotations

import re
from functools import cache

from rigright.base.errors import AskError
from rigright.base.tables import DATA, number, read_rows, text
from rigright.base.words import say
from rigright.facts.cpus import Cpu, cpus

VECTOR_FLOPS = 32.0  # a core and cycle, of architectures nobody listed: two 256-bit multiply-adds
_WORD = re.compile(r"[a-z]*[0-9][a-z0-9]+")


def find_cpu(name: str) -> Cpu:
    """The processor whose name has all the numbers a loose one has: "CPU i9-10940X"."""
    words = set(_WORD.findall(name.lower()))
    found = [cpu for cpu in cpus() if words and words <= set(_WORD.findall(cpu.name.lower()))]
    if not found:
        raise AskError(say('no processor is known by the name "{name}"', name=name[:60]))
    return min(found, key=lambda cpu: len(cpu.name))


def cpu_flops_per_s(cpu: Cpu) -> float:
    """32-bit rate of one socket at its base clock."""
    return cpu.cores * (cpu.base_hz or float("nan")) * _vectors().get(cpu.architecture, VECTOR_FLOPS)


def cpu_bytes_per_s(cpu: Cpu) -> float:
    """Bandwidth of one socket's memory; nan: unknown."""
    return cpu.mem_bytes_per_s or float("nan")


@cache
def _vectors() -> dict[str, float]:
    readers = {"architecture": text, "fp32_flops_per_cycle": number}
    rows = read_rows(DATA / "cpu_vectors.csv", readers, required=tuple(readers))
    return {row["architecture"]: row["fp32_flops_per_cycle"] for row in rows}
