"""nvbandwidth, where it is on the path: copies to, from and between cards without PyTorch."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

from rigright.base.words import say
from rigright.machine.bench.ask import BenchRequest
from rigright.machine.bench.logs import nvbandwidth
from rigright.machine.bench.record import Result, Skipped

TITLE = say("copies to, from and between GPUs, with nvbandwidth")
GROUP = "cards"
NEEDS = ("nvbandwidth",)
SHARE = 1.0

TESTS = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
)


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """One run of all tests."""
    command = ["nvbandwidth", "-j", "-t", *TESTS]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ask.spare_s, check=False)
    except subprocess.TimeoutExpired:
        yield Skipped(part="", why=say("time ran out before {what}", what="nvbandwidth"))
        return
    if done.returncode:
        last_line = (done.stderr.strip().splitlines() or [""])[-1][:200]
        yield Skipped(
            part="", why=say("{what} failed: {why}", what="nvbandwidth", why=last_line or done.returncode)
        )
        return
    yield from nvbandwidth(done.stdout)
