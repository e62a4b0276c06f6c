"""Whole processes, measured from outside: seconds, seconds of CPU, and the most memory held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
RIG = [sys.executable, "-P", "-m", "rigright"]
PER_KIB = 2**20 if sys.platform == "darwin" else 2**10


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a process took. On a busy machine CPU tells more than the clock."""

    wall_s: float
    cpu_s: float
    mem_mib: float

    def __str__(self) -> str:
        return f"{self.wall_s:8.2f} s {self.cpu_s:8.2f} s {self.mem_mib:6.0f} MiB"


def once(command, *, env=None, codes=(0,)):
    """One run; a command that ends otherwise ends the benchmark, with what it said last."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
    )
    said = process.stdout.read()
    if hasattr(os, "wait4"):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        spent, held = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / PER_KIB
    else:
        process.wait()
        spent = held = float("nan")
    if process.returncode not in codes:
        tail = said.decode(errors="replace").strip()[-500:]
        sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}: {tail}")
    return Cost(time.perf_counter() - start, spent, held)


@cache
def unit_s():
    """CPU of the start of Python and numpy on this machine: what a figure in times of it is compared by."""
    return best([sys.executable, "-P", "-c", "import numpy"], rounds=9).cpu_s


def in_units(seconds, *, most):
    """Seconds as times of that start, and how many are wanted at most."""
    return f"{seconds / unit_s():7.1f} starts of numpy   target {most:g}"


def best(command, *, rounds, env=None, codes=(0,)):
    """The least of several runs, after one that fills the caches of the disk; each figure by itself."""
    if rounds > 1:
        once(command, env=env, codes=codes)
    runs = [once(command, env=env, codes=codes) for _ in range(rounds)]
    return Cost(*(min(getattr(run, name) for run in runs) for name in ("wall_s", "cpu_s", "mem_mib")))
