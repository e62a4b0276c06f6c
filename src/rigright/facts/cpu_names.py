"""Which processor of the table a machine's own words mean: "AMD Ryzen Threadripper 7960X 24-Cores"."""

from __future__ import annotations

import re
from functools import cache

from rigright.facts.cpus import CpuModel, cpus

_NOISE = re.compile(r"\(r\)|\(tm\)|®|™|@.*$|\b\d+-cores?\b|\bprocessor\b|\bcpu\b|\([^)]*\)")
_WORD = re.compile(r"[a-z0-9][a-z0-9+-]*")
_MOST_CHARS = 200


def cpu_named(name: str | None) -> CpuModel | None:
    """The processor all of whose words stand in the name; None where none or several do."""
    words = _words((name or "")[:_MOST_CHARS])
    found = [cpu for cpu, wanted in _known() if wanted <= words]
    longest = max((len(_words(cpu.name)) for cpu in found), default=0)
    best = [cpu for cpu in found if len(_words(cpu.name)) == longest]
    return best[0] if len(best) == 1 else None


@cache
def _known() -> tuple[tuple[CpuModel, frozenset[str]], ...]:
    return tuple((cpu, _words(cpu.name)) for cpu in cpus())


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_NOISE.sub(" ", name.lower())))
