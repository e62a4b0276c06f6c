"""nccl-tests, where its programs are on the path: collectives over all cards, as most people quote them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.logs import nccl_tests
from rigright.machine.bench.record import Result, Skipped

TITLE = say("collectives over all GPUs, with nccl-tests")
GROUP = "cards"
NEEDS = ("nccl-tests",)
SHARE = 1.0

PROGRAMS = ("all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf")
SIZES, QUICK_SIZES = ("64M", "8G"), ("64M", "1G")


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every program that is there."""
    until = Deadline.of(ask.spare_s)
    there = [name for name in PROGRAMS if shutil.which(name)]
    first, last = QUICK_SIZES if ask.quick else SIZES
    for index, name in enumerate(there):
        spare_s = until.left_s() / (len(there) - index)
        command = [name, "-b", first, "-e", last, "-f", "4", "-g", str(max(1, len(ask.names)))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=spare_s, check=False)
        except subprocess.TimeoutExpired:
            yield Skipped(part="", why=say("time ran out before {what}", what=name))
            continue
        if done.returncode:
            last_line = (done.stderr.strip().splitlines() or [""])[-1][:200]
            yield Skipped(
                part="", why=say("{what} failed: {why}", what=name, why=last_line or done.returncode)
            )
            continue
        yield from nccl_tests(
            done.stdout, collective=name.removesuffix("_perf").replace("alltoall", "all_to_all")
        )
