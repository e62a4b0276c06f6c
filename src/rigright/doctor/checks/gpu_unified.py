"""Machines whose processor and accelerator share one memory (GB10, Grace, Jetson, Apple, Strix Halo).

There "memory of the card" is main memory: the driver may tell no total, files that the system keeps cached
count as used, and a model that is too large makes the whole machine swap or stop rather than fail. Less
than a quarter available before anything of yours runs: note. Links are not judged here: these report Gen1
x1 whatever they are.

Source: /proc/meminfo; NVIDIA's DGX Spark user guide; reports to gpustat, nvtop and nvitop.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.units import show_bytes
from rigright.base.words import say
from rigright.doctor.gpus import answering, label
from rigright.doctor.record import Case, Finding, Fine, NotSeen, Verdict, seen, step

TITLE = say("memory shared by processor and accelerator")
LEAST_SHARE = 0.25


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a device that shares memory."""
    memory = case.machine.memory
    for device, chip in answering(case):
        if not (device.unified_memory or (chip is not None and chip.unified_memory)):
            continue
        if memory.total_bytes is None or memory.available_bytes is None:
            yield NotSeen(why=say("main memory could not be read"), see="free -h", about=label(device))
        elif memory.available_bytes >= LEAST_SHARE * memory.total_bytes:
            yield Fine(
                says=say(
                    "{free} of {total} available to both",
                    free=show_bytes(memory.available_bytes),
                    total=show_bytes(memory.total_bytes),
                ),
                about=label(device),
            )
        else:
            yield Finding(
                severity="note",
                title=say("little of the shared memory is left"),
                evidence=seen(
                    say(
                        "{free} of {total} available to both",
                        free=show_bytes(memory.available_bytes),
                        total=show_bytes(memory.total_bytes),
                    ),
                    "free -h",
                ),
                why=say(
                    "a model that does not fit makes the whole machine swap, or stop, instead of failing"
                ),
                fix=(step(say("end what holds memory, then see what fits"), "rigright fit --on here"),),
                about=label(device),
            )
