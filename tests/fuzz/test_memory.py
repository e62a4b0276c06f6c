"""What a reader takes of memory: at most ten times its input, or a hundred MB beyond the program itself."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from functools import cache
from itertools import product

import doors
import pytest

from rigright.base.units import KIB, MIB

FLOOR_BYTES, TIMES = 100 * MIB, 10
LARGE_BYTES = 3 * MIB
SOON_CPU_S = 60
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
EVERY = sorted(doors.DOORS.keys() - {("sweep", "grid")})  # of that, each line is a question
SHARE = [
    (("simulate", "--trace"), "one line"),
    (("validate", "files"), "empty lines"),
    (("doctor", "--for"), "small lists"),
    (("plan", "--prices"), "small lists"),
]


def grown(work):
    """Bytes of memory that a copy of this process took for some work, and seconds of computing."""
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
    return used.ru_maxrss * KIB, used.ru_utime + used.ru_stime


@cache
def sound_bytes(door):
    """What a sound file takes; what reads it is loaded before the copies are made."""
    text = doors.DOORS[door][1]
    doors.ask(door, text)
    return grown(lambda: doors.ask(door, text))[0]


def measured(door, flood):
    """Bytes of a flood, bytes of memory beyond those of a sound file, seconds."""
    raw = FLOODS[flood](doors.DOORS[door][1])
    base = sound_bytes(door)
    took, lasted_s = grown(lambda: doors.ask_bytes(door, raw))
    return len(raw), took - base, lasted_s


def each_flood_of_each_reader():
    """Doors that take the same file share its reader, and the floods of it."""
    readers = {}
    for door in EVERY:
        readers.setdefault(doors.DOORS[door][1], []).append(door)
    return [(those[at % len(those)], flood) for those in readers.values() for at, flood in enumerate(FLOODS)]


@pytest.fixture(scope="module")
def lean():
    """A process that ran no other tests: copies of one that did take more, by what lies free in it."""
    line, pipes = [sys.executable, __file__], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        line, **pipes, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, text=True
    ) as process:
        yield process
        process.stdin.close()


def check(lean, door, flood):
    lean.stdin.write(json.dumps([door, flood]) + "\n")
    lean.stdin.flush()
    size, took, lasted_s = json.loads(lean.stdout.readline())
    assert took <= max(FLOOR_BYTES, TIMES * size), f"{door}, {flood}: {took // MIB} MiB for {size // KIB} KiB"
    assert lasted_s < SOON_CPU_S, f"{door}, {flood}"


linux = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")


@linux
def test_a_flood_takes_little_memory(lean):
    for door, flood in SHARE:
        check(lean, door, flood)


@linux
@pytest.mark.live
@pytest.mark.dear
def test_any_flood_takes_little_memory_of_any_reader(lean):
    """Every flood of every reader; in the nightly at every door, which is the same reader behind another."""
    nightly = os.environ.get("RIGRIGHT_NIGHTLY")
    for door, flood in list(product(EVERY, FLOODS)) if nightly else each_flood_of_each_reader():
        check(lean, door, flood)


if __name__ == "__main__":
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers, open(os.devnull, "w") as nowhere:  # noqa: PTH123
        for stream in (sys.stdout, sys.stderr):  # what the doors print
            os.dup2(nowhere.fileno(), stream.fileno())
        for line in sys.stdin:
            one, kind = json.loads(line)
            answers.write(json.dumps(measured(tuple(one), kind)) + "\n")
            answers.flush()
