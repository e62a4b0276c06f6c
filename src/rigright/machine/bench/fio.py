"""fio, where it is there: the guides' own job and a sequential one, and what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import DataError
from rigright.base.units import GIGA, KIB, MIB
from rigright.base.words import say

BLOCK = 4 * KIB
LONGEST_JSON = 4 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of fio."""

    name: str
    pattern: str  # "randread", "read", "write"
    block_bytes: int
    depth: int
    jobs: int
    run_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FioResult:
    """What a job reached."""

    ops_per_s: float
    ops_least: float
    ops_most: float
    bytes_per_s: float
    latency_s: float | None  # mean, from asking to having
    latency_p99_s: float | None
    version: str


GUIDE = Job(name="random read 4 KiB", pattern="randread", block_bytes=4 * KIB, depth=32, jobs=4, run_s=60.0)
READ = Job(name="sequential read 1 MiB", pattern="read", block_bytes=MIB, depth=16, jobs=1, run_s=20.0)
WRITE = Job(name="sequential write 1 MiB", pattern="write", block_bytes=MIB, depth=16, jobs=1, run_s=15.0)


def command(job: Job, *, file: str, size: int, engine: str) -> list[str]:
    """The line that runs a job; all its processes share one file."""
    return [
        *("fio", f"--name={job.pattern}", f"--filename={file}", f"--ioengine={engine}"),
        *(f"--iodepth={job.depth}", f"--rw={job.pattern}", f"--bs={job.block_bytes}", "--direct=1"),
        *(f"--size={size}", f"--numjobs={job.jobs}", f"--runtime={job.run_s:g}", "--time_based"),
        *("--group_reporting", "--refill_buffers", "--randrepeat=0", "--output-format=json"),
    ]


def run(job: Job, *, file: str, size: int, engine: str = "libaio", patience_s: float) -> FioResult:
    """Run a job and read what it says."""
    try:
        done = subprocess.run(
            command(job, file=file, size=size, engine=engine),
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataError(say("fio could not be run: {why}", why=type(error).__name__)) from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise DataError(say("fio failed: {why}", why=lines[-1][:200] if lines else done.returncode))
    return read(done.stdout, job.pattern)


def read(text: str, pattern: str) -> FioResult:
    """Read fio's JSON; warnings may stand before it."""
    begin = text[:LONGEST_JSON].find("{")
    try:
        fields: Mapping[str, Any] = bounded_json(text[begin:LONGEST_JSON]) if begin >= 0 else {}
        side = fields["jobs"][0]["write" if pattern.endswith("write") else "read"]
        latency = side.get("clat_ns", {})
        tail = latency.get("percentile", {}).get("99.000000")
        return FioResult(
            ops_per_s=float(side["iops"]),
            ops_least=float(side.get("iops_min") or side["iops"]),
            ops_most=float(side.get("iops_max") or side["iops"]),
            bytes_per_s=float(side["bw_bytes"]),
            latency_s=_seconds(side.get("lat_ns", {}).get("mean")),
            latency_p99_s=_seconds(tail),
            version=str(fields.get("fio version", "fio")),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
        raise DataError(say("cannot read the output of fio")) from None


def _seconds(nanoseconds: object) -> float | None:
    return float(nanoseconds) / GIGA if isinstance(nanoseconds, int | float) else None
