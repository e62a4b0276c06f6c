"""What a reader takes of memory: at most ten times its input, or a hundred MB beyond the program itself."""

from __future__ import annotations

import gzip
import os
import sys
import time

import doors
import pytest

from rigright.base.units import KIB, MIB

FLOOR_BYTES, TIMES = 100 * MIB, 10
LARGE_BYTES = 3 * MIB
SOON_S = 60
FLOODS = {  # of any reader
    "small lists": lambda _: b"[" + b"[]," * (LARGE_BYTES // 3) + b"[]]",
    "empty lines": lambda _: b"\n" * LARGE_BYTES,
    "one line": lambda _: b"a" * LARGE_BYTES,
    "itself again": lambda seed: seed.encode() * (LARGE_BYTES // len(seed)),
    "its last line again": lambda seed: (
        seed.encode() + (seed.strip().splitlines()[-1] + "\n").encode() * (LARGE_BYTES // 100)
    ),
    "a flood in a gzip": lambda seed: gzip.compress((seed.encode() + b"\n") * (60 * MIB // len(seed))),
}
SHARE = [
    (("simulate", "--trace"), "one line"),
    (("validate", "files"), "empty lines"),
    (("doctor", "--for"), "small lists"),
    (("plan", "--prices"), "small lists"),
]


def grown(work):
    """Bytes of memory that a copy of this process took for some work, and seconds."""
    began_s = time.monotonic()
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return used.ru_maxrss * KIB, time.monotonic() - began_s


def check(door, flood):
    raw = FLOODS[flood](doors.DOORS[door][1])
    base, _ = grown(lambda: doors.ask(door, doors.DOORS[door][1]))
    took, lasted_s = grown(lambda: doors.ask_bytes(door, raw))
    most = max(FLOOR_BYTES, TIMES * len(raw))
    assert took - base <= most, f"{(took - base) // MIB} MiB for {len(raw) // KIB} KiB"
    assert lasted_s < SOON_S


linux = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")


@linux
@pytest.mark.parametrize(("door", "flood"), SHARE)
def test_a_flood_takes_little_memory(door, flood):
    check(door, flood)


@linux
@pytest.mark.live
@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("door", sorted(doors.DOORS.keys() - {("sweep", "grid")}))  # each line is a question
def test_any_flood_takes_little_memory_of_any_reader(door, flood):
    check(door, flood)
